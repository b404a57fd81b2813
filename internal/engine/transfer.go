package engine

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// transfer is how the bytes of a stream are handed to the kernel and taken from
// it. The ways differ in what they cost a packet, so a result names them.
type transfer struct {
	Discard bool          `json:"discard,omitempty"` // tcp-stream: the receiver does not copy what arrives
	Send    string        `json:"send,omitempty"`    // of datagrams one way: one of sendPaths; "" is single
	Batch   int           `json:"batch,omitempty"`   // datagrams per call of mmsg and gso; 0 is 1
	Recv    string        `json:"recv,omitempty"`    // the same: one of recvPaths; "" is single
	Nap     time.Duration `json:"nap,omitempty"`     // the same: from one look of the receiver to the next; 0 waits in the socket
	DSCP    int           `json:"dscp,omitempty"`    // of what both ends send, 0..63
}

var (
	sendPaths = []string{sendSingle, sendMmsg, sendGSO}
	recvPaths = []string{recvSingle, recvMmsg, recvGRO}
)

const (
	sendSingle = "single" // one datagram per sendto
	sendMmsg   = "mmsg"   // many per sendmmsg; each takes its own way through the kernel
	sendGSO    = "gso"    // many in one buffer, which the kernel cuts as late as it can (UDP_SEGMENT, udp(7))

	recvSingle = "single" // one datagram per recvmsg
	recvMmsg   = "mmsg"   // all that are there, up to recvBatch, per recvmmsg
	recvGRO    = "gro"    // the same, with datagrams that arrived in one buffer left together (UDP_GRO, udp(7))
)

const (
	defaultMmsg = 32
	// defaultGSO is UDP_MAX_SEGMENTS of the kernels that have the fewest
	// (include/linux/udp.h); newer ones take maxGSO.
	defaultGSO = 64
	maxGSO     = 128
	maxMmsg    = 1024 // UIO_MAXIOV, include/uapi/linux/uio.h
	maxDSCP    = 63
	maxNap     = 10 * time.Millisecond
	// defaultNap is short against what a receive buffer holds, and long against
	// the time that it takes to be woken up.
	defaultNap = 50 * time.Microsecond
)

// oneWay reports whether a workload is made of datagrams that are counted and not
// answered.
func oneWay(workload string) bool { return workload == "udp-stream" || workload == "udp-search" }

func (p params) checkTransfer() error {
	if p.DSCP < 0 || p.DSCP > maxDSCP {
		return fmt.Errorf("DSCP %d is outside 0..%d", p.DSCP, maxDSCP)
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
	most := map[string]int{"": 1, sendSingle: 1, sendMmsg: maxMmsg, sendGSO: maxGSO}[p.Send]
	switch {
	case most == 0:
		return fmt.Errorf("unknown way to send %q; one of %s", p.Send, strings.Join(sendPaths, ", "))
	case p.Recv != "" && !slices.Contains(recvPaths, p.Recv):
		return fmt.Errorf("unknown way to receive %q; one of %s", p.Recv, strings.Join(recvPaths, ", "))
	case p.Batch < 0 || p.Batch > most:
		return fmt.Errorf("batch %d is outside 1..%d of %s", p.Batch, most, or(p.Send, sendSingle))
	case p.Send == sendGSO && p.Batch > 1 && p.Batch*p.Size > maxDatagram:
		return fmt.Errorf("gso: %d datagrams of %d bytes are more than the %d of one buffer: at most %d of this size", p.Batch, p.Size, maxDatagram, max(maxDatagram/max(p.Size, 1), 1))
	case p.Nap < 0 || p.Nap > maxNap:
		return fmt.Errorf("nap %v is outside 0..%v", p.Nap, maxNap)
	}
	return nil
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
	c.Send = or(c.Send, sendSingle)
	switch c.Send {
	case sendSingle:
		c.Batch = or(c.Batch, 1)
	case sendMmsg:
		c.Batch = or(c.Batch, defaultMmsg)
	case sendGSO:
		c.Batch = or(c.Batch, max(1, min(defaultGSO, maxDatagram/max(c.Size, 1))))
	}
	if c.Recv == "" {
		c.Recv = recvMmsg
		if c.Send == sendGSO {
			c.Recv = recvGRO
		}
	}
	// On a schedule the moment at which a datagram is read is what jitter is
	// computed from.
	if unset && c.rate == 0 {
		c.Nap = defaultNap
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
