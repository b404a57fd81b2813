package engine

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
)

// transfer is how the bytes of a stream are handed to the kernel and taken from
// it. The ways differ in what they cost a packet, so a result names them.
type transfer struct {
	Discard bool          `json:"discard,omitempty"` // tcp-stream: the receiver does not copy what arrives
	Send    string        `json:"send,omitempty"`    // of datagrams one way: one of event.SendModes; "" is single
	Batch   int           `json:"batch,omitempty"`   // datagrams per call of mmsg and gso; 0 is 1
	Recv    string        `json:"recv,omitempty"`    // the same: one of event.RecvModes; "" is single
	Nap     time.Duration `json:"nap,omitempty"`     // the same: from one look of the receiver to the next; 0 waits in the socket
	DSCP    int           `json:"dscp,omitempty"`    // of what both ends send, 0..63
}

const maxNap = 10 * time.Millisecond

// oneWay reports whether a workload is made of datagrams that are counted and not
// answered.
func oneWay(workload string) bool { return workload == "udp-stream" || workload == "udp-search" }

func (p params) checkTransfer() error {
	if p.DSCP < 0 || p.DSCP > event.MaxDSCP {
		return fmt.Errorf("DSCP %d is outside 0..%d", p.DSCP, event.MaxDSCP)
	}
	if p.Discard && p.Workload != "tcp-stream" {
		return fmt.Errorf("%s: --discard is for tcp-stream alone", p.Workload)
	}
	if !oneWay(p.Workload) {
		if p.Send != "" || p.Batch != 0 || p.Recv != "" || p.Nap != 0 {
			return fmt.Errorf("%s: --send, --batch, --recv and --nap are for udp-stream and udp-search alone", p.Workload)
		}
		return nil
	}
	if p.Nap < 0 || p.Nap > maxNap {
		return fmt.Errorf("nap %v is outside 0..%v", p.Nap, maxNap)
	}
	return p.mode().Filled().Check()
}

func (p params) mode() event.Mode {
	return event.Mode{Size: p.Size, Send: p.Send, Batch: p.Batch, Recv: p.Recv}
}

// napUnset is a nap that the command line does not give.
const napUnset = time.Duration(-1)

func (c *config) transferFlags(fs *flag.FlagSet) {
	c.Nap = napUnset
	fs.BoolVar(&c.Discard, "discard", false, "tcp-stream: the receiver discards in the kernel (MSG_TRUNC) instead of copying")
	fs.BoolVar(&c.zerocopy, "zerocopy", false, "tcp-stream: send without copying (MSG_ZEROCOPY)")
	fs.StringVar(&c.Send, "send", "", "udp-stream, udp-search: single, mmsg (sendmmsg) or gso (UDP_SEGMENT) (default single)")
	fs.IntVar(&c.Batch, "batch", 0, "udp-stream, udp-search: datagrams per call (default 1 for single, 32 for mmsg, what one buffer holds, 64 at most, for gso)")
	fs.StringVar(&c.Recv, "recv", "", "udp-stream, udp-search: single, mmsg (recvmmsg) or gro (UDP_GRO) (default gro for gso, else mmsg)")
	fs.Func("nap", "udp-stream, udp-search: the receiver looks this often instead of being woken up by every datagram; 0 waits (default 50µs, 0 with --rate)", func(s string) (err error) {
		if c.Nap, err = time.ParseDuration(s); err == nil && c.Nap < 0 {
			err = fmt.Errorf("nap %v is outside 0..%v", c.Nap, maxNap)
		}
		return err
	})
	fs.IntVar(&c.DSCP, "dscp", 0, "of the packets of both ends, 0..63")
	fs.Func("cpu", "run the client on these CPUs alone, such as 0 or 0,2-3", func(s string) (err error) {
		c.cpus, err = parseCPUs(s)
		return err
	})
}

// finishTransfer gives what the command line leaves open the value that it is
// measured with.
func (c *config) finishTransfer() {
	unset := c.Nap == napUnset
	if unset {
		c.Nap = 0
	}
	if !oneWay(c.Workload) {
		return
	}
	m := c.mode().Filled()
	c.Send, c.Batch, c.Recv = m.Send, m.Batch, m.Recv
	// On a schedule the moment at which a datagram is read is what jitter is
	// computed from.
	if unset && c.rate == 0 {
		c.Nap = event.DefaultNap
	}
}

// or returns v, or the default when v is zero.
func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// maxCPU bounds the numbers of CPUs, as unix.CPUSet does.
const maxCPU = 1023

// parseCPUs reads a list such as 0,2-3.
func parseCPUs(s string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(s, ",") {
		from, to, span := strings.Cut(part, "-")
		first, err := strconv.ParseUint(from, 10, 16)
		last := first
		if err == nil && span {
			last, err = strconv.ParseUint(to, 10, 16)
		}
		if err != nil || last < first || last > maxCPU {
			return nil, fmt.Errorf("%q is not a list of CPUs within 0..%d, such as 0 or 0,2-3", s, maxCPU)
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, int(cpu))
		}
	}
	return cpus, nil
}
