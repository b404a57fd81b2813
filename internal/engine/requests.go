package engine

import (
	"flag"
	"fmt"
	"math"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
)

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
	c.Stamps = c.stampEvery > 0 && wire.Echoing(c.Workload) && c.Workload != "tcp-crr" && !pipeline
	switch {
	case c.stampEvery < 0 || c.stampEvery > wire.MaxTime:
		return fmt.Errorf("time between stamps %v is outside 0..%v", c.stampEvery, wire.MaxTime)
	case c.Workload == "udp-open" && (math.IsNaN(c.rate) || c.rate < event.MinRequests || c.rate > event.MaxRequests):
		return fmt.Errorf("udp-open: rate %g is outside %d..%d requests/s", c.rate, event.MinRequests, event.MaxRequests)
	}
	return nil
}
