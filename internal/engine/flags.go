package engine

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// parseFlags parses flags that stand anywhere among the positional arguments names,
// which it returns in order. A name in brackets is optional; its value is "" if it is
// missing.
func parseFlags(fs *flag.FlagSet, out *events, args []string, help func(pos []string), names ...string) ([]string, error) {
	fs.SetOutput(io.Discard) // errors are returned, not printed twice
	fs.Usage = func() {}
	see := "see weir engine " + fs.Name() + " --help"
	var pos []string
	for {
		if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
			help(pos)
			return nil, err
		} else if err != nil {
			return nil, fmt.Errorf("%w: %s: %w; %s", ErrUsage, fs.Name(), err, see)
		}
		if fs.NArg() == 0 {
			break
		}
		if len(pos) == len(names) {
			return nil, fmt.Errorf("%w: %s: unexpected argument %q; %s", ErrUsage, fs.Name(), fs.Arg(0), see)
		}
		pos, args = append(pos, fs.Arg(0)), fs.Args()[1:]
	}
	for len(pos) < len(names) {
		if name := names[len(pos)]; !strings.HasPrefix(name, "[") {
			return nil, fmt.Errorf("%w: %s: %s is missing; %s", ErrUsage, fs.Name(), name, see)
		}
		pos = append(pos, "")
	}
	if f := fs.Lookup("json"); f != nil && f.Value.String() == "false" {
		out.console = &console{w: out.w}
	}
	return pos, nil
}

// napUnset is a nap that is not on the command line.
const napUnset = time.Duration(-1)

func (c *config) transferFlags(fs *flag.FlagSet) {
	c.Nap = napUnset
	fs.BoolVar(&c.Discard, "discard", false, "tcp-stream: the receiver discards in the kernel (MSG_TRUNC) instead of copying")
	fs.BoolVar(&c.zerocopy, "zerocopy", false, "tcp-stream: send without copying (MSG_ZEROCOPY)")
	fs.StringVar(&c.Send, "send", "", "udp-stream, udp-search: single, mmsg (sendmmsg) or gso (UDP_SEGMENT) (default single)")
	fs.IntVar(&c.Batch, "batch", 0, "udp-stream, udp-search: datagrams per call (default 1 for single, 32 for mmsg, as many as one buffer holds, at most 64, for gso)")
	fs.StringVar(&c.Recv, "recv", "", "udp-stream, udp-search: single, mmsg (recvmmsg) or gro (UDP_GRO) (default gro for gso, else mmsg)")
	fs.Func("nap", "udp-stream, udp-search: polling interval of the receiver, instead of waking up for every datagram; 0 waits (default 50µs, 0 with --rate)", func(s string) (err error) {
		if c.Nap, err = time.ParseDuration(s); err == nil {
			err = event.Within("nap", c.Nap, 0, wire.MaxNap, "")
		}
		return err
	})
	fs.IntVar(&c.DSCP, "dscp", 0, "DSCP of the packets of both ends, 0..63")
	cpuFlag(fs, &c.cpus, "run the client only on these CPUs")
}

// finishTransfer fills in what the command line leaves open.
func (c *config) finishTransfer() {
	unset := c.Nap == napUnset
	if unset {
		c.Nap = 0
	}
	if !wire.OneWay(c.Workload) {
		return
	}
	m := c.Mode().Filled()
	c.Send, c.Batch, c.Recv = m.Send, m.Batch, m.Recv
	// On a schedule, jitter is computed from the moment at which a datagram is read.
	if unset && c.rate == 0 {
		c.Nap = event.DefaultNap
	}
}

func cpuFlag(fs *flag.FlagSet, cpus *[]int, usage string) {
	fs.Func("cpu", usage+", such as 0 or 0,2-3", func(s string) (err error) { *cpus, err = parseCPUs(s); return err })
}

// maxCPU is the highest CPU number, that of unix.CPUSet.
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

func (c *config) requestFlags(fs *flag.FlagSet) {
	fs.IntVar(&c.Inflight, "inflight", 1, "tcp-rr, udp-rr: requests outstanding at once")
	fs.BoolVar(&c.Spin, "spin", false, "tcp-rr, udp-open, udp-rr: both ends poll for messages, each on its own CPU, instead of blocking")
	fs.DurationVar(&c.stampEvery, "stamp-every", stampEvery, "shortest time between two requests that the kernel stamps; 0 stamps none")
}

// finishRequests sets what follows from the flags.
func (c *config) finishRequests() error {
	if c.rate == 0 && c.Workload == "udp-open" {
		c.rate = event.DefaultRequests
	}
	// More than one request in flight on a connection, see tcpAsker.whyNot.
	pipeline := c.Workload == "tcp-rr" && c.Inflight > 1
	c.Stamps = c.stampEvery > 0 && wire.Echoing(c.Workload) && c.Workload != "tcp-crr" && !pipeline
	if c.Workload == "udp-open" {
		return event.CheckRate("udp-open", c.rate)
	}
	return nil
}
