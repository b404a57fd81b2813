package engine

import (
	"flag"
	"fmt"
	"math"

	"github.com/weir-bench/weir/internal/engine/event"
)

// requests is what both ends must know of workloads that are made of requests and replies.
type requests struct {
	Inflight int  `json:"inflight,omitempty"` // outstanding at once; 0 is 1
	Spin     bool `json:"spin,omitempty"`     // poll instead of block, at both ends
	Stamps   bool `json:"stamps,omitempty"`   // the client will mark requests for stamps
}

// echoing reports whether a workload is made of requests and replies.
func echoing(workload string) bool { return workload != "tcp-stream" && !oneWay(workload) }

func (p params) checkRequests() error {
	switch {
	case p.Inflight < 0 || p.Inflight > event.MaxInflight:
		return fmt.Errorf("%d requests in flight is outside 1..%d", p.Inflight, event.MaxInflight)
	case p.Inflight > 1 && p.Workload != "tcp-rr" && p.Workload != "udp-rr":
		return fmt.Errorf("%s: more than one request in flight is for tcp-rr and udp-rr", p.Workload)
	case p.Inflight > 1 && p.Workload == "tcp-rr" && p.Inflight*p.Size > event.MaxPipeline:
		return fmt.Errorf("tcp-rr: %d requests of %d bytes in flight are more than %d bytes, with which both ends might wait for the other to read",
			p.Inflight, p.Size, event.MaxPipeline)
	case p.Spin && (!echoing(p.Workload) || p.Workload == "tcp-crr"):
		return fmt.Errorf("%s: spinning is for tcp-rr, udp-open and udp-rr", p.Workload)
	case p.Workload == "tcp-crr" && p.Size < headerSize:
		return fmt.Errorf("tcp-crr: size %d is below %d bytes, which tell its requests from others", p.Size, headerSize)
	}
	return nil
}

func (c *config) requestFlags(fs *flag.FlagSet) {
	fs.IntVar(&c.Inflight, "inflight", 1, "tcp-rr, udp-rr: requests that are outstanding at once")
	fs.BoolVar(&c.Spin, "spin", false, "tcp-rr, udp-open, udp-rr: both ends poll for messages, each on its own CPU, instead of being woken up")
	fs.DurationVar(&c.stampEvery, "stamp-every", stampEvery, "the shortest time between two requests that the kernel stamps; 0 is none")
}

// finishRequests sets what follows from the flags, and checks what the client alone knows.
func (c *config) finishRequests() error {
	if c.rate == 0 && c.Workload == "udp-open" {
		c.rate = event.DefaultRequests
	}
	// More than one request in flight on a connection, see tcpAsker.whyNot.
	pipeline := c.Workload == "tcp-rr" && c.Inflight > 1
	c.Stamps = c.stampEvery > 0 && echoing(c.Workload) && c.Workload != "tcp-crr" && !pipeline
	switch {
	case c.stampEvery < 0 || c.stampEvery > maxTime:
		return fmt.Errorf("time between stamps %v is outside 0..%v", c.stampEvery, maxTime)
	case c.Workload == "udp-open" && (math.IsNaN(c.rate) || c.rate < event.MinRequests || c.rate > event.MaxRequests):
		return fmt.Errorf("udp-open: rate %g is outside %d..%d requests/s", c.rate, event.MinRequests, event.MaxRequests)
	}
	return nil
}
