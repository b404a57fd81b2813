package engine

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A config is a parsed `weir engine run`.
type config struct {
	wire.Params
	server  netip.AddrPort
	open    bool          // the server admits every client, so a hello over UDP suffices
	token   string        // "": none
	rate    float64       // streams: bit/s of payload, 0: as fast as possible; udp-open and those that look for outages: requests/s
	sndBuf  int           // bytes; 0 keeps the kernel's choice
	timeout time.Duration // for connecting, every answer, and progress of TCP

	zerocopy bool
	sendfile bool
	cpus     []int // nil: any

	tls     bool        // http-rr, http-connect: over TLS
	resume  bool        // http-connect over TLS: sessions
	overTCP bool        // dns-rr, dns-lookup
	sizes   event.Sizes // http-rr, http-connect, h2-rr; the zero value: Size

	aim aim // of udp-search

	stampEvery time.Duration // shortest time between two stamped requests; 0: none
}

// maxRate is far above any path and keeps the schedule's arithmetic exact.
const maxRate = 1e13

func runMain(ctx context.Context, args []string, out events, help io.Writer) error {
	c, err := parseRun(args, out.order, help)
	if err != nil {
		return err
	}
	if err := stayOn(c.cpus); err != nil {
		return err
	}
	sock.RoomFor(c.Streams)
	s, release := sock.StopWith(ctx)
	defer release()
	run := map[string]func(context.Context, config, *sock.Stopper, events) (any, error){
		"connect-outage": runConnectOutage, "tcp-crr": runTCPCRR, "tcp-outage": runTCPOutage, "tcp-rr": runTCPRR, "tcp-stream": runTCPStream,
		"udp-open": runUDP, "udp-outage": runUDPOutage, "udp-rr": runUDP, "udp-search": runUDPSearch, "udp-stream": runUDPStream,
	}[c.Workload]
	if wire.Web(c.Workload) {
		run = runWeb
	}
	result, err := run(ctx, c, s, out)
	if err != nil {
		return sock.Canceled(ctx, err)
	}
	return out.print(result)
}

// parseRun parses a command line: an order to an agent, or one that a person typed.
func parseRun(args []string, order bool, help io.Writer) (config, error) {
	c := config{Params: wire.Params{Weir: wire.Version, Run: rand.Uint32N(wire.MaxRun + 1)}}
	var source tokenSource
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.DurationVar(&c.Duration, "duration", 10*time.Second, "length of the measured window")
	fs.DurationVar(&c.Warmup, "warmup", 0, "time of traffic before the window, which is not counted")
	fs.IntVar(&c.Size, "size", 0, "bytes per write, datagram or message (default 1048576 for tcp-stream, 131072 with --rate, 1400 for udp-stream, 18 for udp-search, 64 otherwise)")
	fs.Float64Var(&c.rate, "rate", 0, "tcp-stream, udp-stream: bit/s of payload, all streams together, 0 sends as fast as possible; udp-open, udp-outage, tcp-outage, connect-outage: requests/s (default 2000, tcp-outage 1000, connect-outage 500); http, h2, grpc, quic and dns: requests/s on a schedule, 0: each follows an answer")
	fs.IntVar(&c.Streams, "streams", 1, "tcp-stream, udp-stream: streams, each with a thread at both ends")
	fs.StringVar(&c.CC, "cc", "cubic", "TCP congestion control at both ends; unless given, a machine that refuses cubic uses its own")
	fs.IntVar(&c.sndBuf, "sndbuf", 0, "bytes to request for the client's send buffer; 0 keeps the default")
	fs.IntVar(&c.RcvBuf, "rcvbuf", 0, "bytes to request for the server's receive buffer; 0 keeps the default (UDP: 4 MiB)")
	fs.DurationVar(&c.timeout, "timeout", 3*time.Second, "limit for connecting, for each answer of the server, and for TCP progress")
	c.transferFlags(fs)
	fs.IntVar(&c.Inflight, "inflight", 1, "tcp-rr, udp-rr: requests outstanding at once; those of http and dns have a connection each, those of h2-rr, grpc-rr and quic-rr a stream")
	fs.BoolVar(&c.tls, "tls", false, "http-rr, http-connect: over TLS 1.3")
	fs.BoolVar(&c.resume, "resume", false, "http-connect over TLS: resume the session of the connection before")
	fs.Func("sizes", "http-rr, http-connect, h2-rr, grpc-rr, quic-rr: distribution of the answers' sizes, instead of --size: bytes and their weight, such as '64 10, 1024 5'", func(s string) (err error) { c.sizes, err = event.ParseSizes(s); return err })
	fs.IntVar(&c.Packet, "packet", 0, "quic-rr: bytes of UDP payload in the largest packet, 1200 to 1452; both ends know the path's MTU by it and do not discover it (default 1200)")
	fs.BoolVar(&c.overTCP, "tcp", false, "dns-rr, dns-lookup: over TCP instead of UDP")
	fs.BoolVar(&c.Spin, "spin", false, "tcp-rr, udp-open, udp-rr: both ends poll for messages, each on its own CPU, instead of blocking")
	fs.DurationVar(&c.stampEvery, "stamp-every", stampEvery, "shortest time between two requests that the kernel stamps; 0 stamps none")
	c.searchFlags(fs)
	fs.StringVar(&source.word, "token", "", "`token` of the server; other users of this machine can read it in the process list")
	fs.StringVar(&source.file, "token-file", "", "`file` with the token (default $"+tokenVariable+")")
	pos, err := parseFlags(fs, args, help, "Measure the path to a machine that runs weir engine serve. A workload is one of "+strings.Join(wire.Workloads, ", ")+".",
		"WORKLOAD", "ADDR[:PORT]")
	if err != nil {
		return c, err
	}
	c.Workload = pos[0]
	if c.server, err = parseServer("run", pos[1]); err != nil {
		return c, err
	}
	c.token, err = source.read()
	fs.Visit(func(f *flag.Flag) {
		never := f.Name == "size" || f.Name == "batch" || f.Name == "inflight" || f.Name == "rate" && scheduled(c.Workload)
		if never && f.Value.String() == "0" { // else the default would be used without a word
			err = cmp.Or(err, fmt.Errorf("--%s 0: want more, or leave it out for the default", f.Name))
		}
	})
	if err != nil {
		return c, fmt.Errorf("%w: run: %w", ErrUsage, err)
	}
	c.open = order && c.token == ""
	c.AnyCC = true
	fs.Visit(func(f *flag.Flag) { c.AnyCC = c.AnyCC && f.Name != "cc" })
	if mean := c.sizes.Mean(); mean > 0 {
		c.Size = int(math.Round(mean))
	}
	c.Size = cmp.Or(c.Size, map[string]int{"tcp-stream": event.DefaultWrite(c.rate), "udp-stream": 1400, "udp-search": 18}[c.Workload], 64)
	if c.Workload == "quic-rr" {
		c.Packet = cmp.Or(c.Packet, event.MinPacket)
	}
	if !strings.HasPrefix(c.Workload, "tcp-") && !wire.Web(c.Workload) || c.Workload == "quic-rr" {
		c.CC, c.AnyCC = "", false
	}
	c.finishTransfer()
	if err = cmp.Or(c.Check(), c.finishRequests(), c.finishSearch()); err == nil {
		err = c.check()
	}
	if err != nil {
		return c, fmt.Errorf("%w: run: %w", ErrUsage, err)
	}
	return c, nil
}

// check checks the parameters that only the client knows.
func (c *config) check() error {
	switch {
	case c.server.Port() == 0:
		return fmt.Errorf("cannot connect to port 0 of %v", c.server.Addr())
	case c.zerocopy && c.sendfile:
		return errors.New("--zerocopy and --sendfile: give one of them")
	case wire.Web(c.Workload) && (c.sndBuf != 0 || c.RcvBuf != 0):
		return fmt.Errorf("%s: libraries choose its buffers: leave out --sndbuf and --rcvbuf", c.Workload)
	case c.resume && !c.tls:
		return errors.New("--resume without --tls: there is no session")
	case c.Workload == "tcp-stream" && event.CheckPaced(c.rate, c.Streams) != nil:
		return event.CheckPaced(c.rate, c.Streams)
	}
	return cmp.Or(
		event.Within("rate", c.rate, 0, maxRate, "bit/s"),
		event.Within("time between stamps", c.stampEvery, 0, wire.MaxTime, ""),
		event.Within("send buffer", c.sndBuf, 0, wire.MaxBuffer, "bytes"),
		event.Within("timeout", c.timeout, 1, wire.MaxTime, ""),
		wire.Only(c.tls, c.Workload, "--tls is", "http-connect", "http-rr"),
		wire.Only(c.resume, c.Workload, "--resume is", "http-connect"),
		wire.Only(c.overTCP, c.Workload, "--tcp is", "dns-lookup", "dns-rr"),
		wire.Only(c.rate > 0 && !wire.Web(c.Workload), c.Workload, "--rate is", "connect-outage", "tcp-outage", "tcp-stream", "udp-open", "udp-outage", "udp-stream"),
		wire.Only(c.sizes.Mean() > 0, c.Workload, "--sizes is", "grpc-rr", "h2-rr", "http-connect", "http-rr", "quic-rr"),
		wire.Only(c.zerocopy, c.Workload, "--zerocopy is", "tcp-stream"),
		wire.Only(c.sendfile, c.Workload, "--sendfile is", "tcp-stream"))
}

// parseFlags parses flags anywhere among the positional arguments names, and returns these in
// order. A name in brackets is optional, "" if missing. Help goes to a writer, and says first what the command does.
func parseFlags(fs *flag.FlagSet, args []string, help io.Writer, does string, names ...string) ([]string, error) {
	fs.Bool("json", true, "print JSON lines, as always")
	fs.SetOutput(io.Discard) // errors are returned, not printed twice
	fs.Usage = func() {}
	see := "see weir engine " + fs.Name() + " --help"
	fs.VisitAll(toDecimal)
	var pos []string
	for {
		if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(help, "%s\n\nUsage: weir engine %s [flags]\n\n", does, strings.Join(append([]string{fs.Name()}, names...), " "))
			fs.SetOutput(help)
			fs.VisitAll(toPlain)
			fs.PrintDefaults()
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
	var empty error
	fs.Visit(func(f *flag.Flag) {
		if v, ok := f.Value.(flag.Getter); ok && v.Get() == "" { // as of an unset variable of a script
			empty = fmt.Errorf("%w: %s: --%s is empty: give it a value, or leave it out", ErrUsage, fs.Name(), f.Name)
		}
	})
	return pos, empty
}

// sizesOf returns a function that draws the sizes of the answers to the ith exchanger, in the same order in all runs.
func (c *config) sizesOf(i int) func() int {
	if c.sizes.Mean() == 0 {
		return func() int { return c.Size }
	}
	r := rand.New(rand.NewPCG(0, uint64(i)))
	return func() int { return c.sizes.Draw(r) }
}

const napUnset = time.Duration(-1)

func (c *config) transferFlags(fs *flag.FlagSet) {
	c.Nap = napUnset
	fs.BoolVar(&c.Discard, "discard", false, "tcp-stream: the receiver discards in the kernel (MSG_TRUNC) instead of copying")
	fs.BoolVar(&c.zerocopy, "zerocopy", false, "tcp-stream: send without copying (MSG_ZEROCOPY)")
	fs.BoolVar(&c.sendfile, "sendfile", false, "tcp-stream: send the same pages of memory again and again, without copying (sendfile)")
	fs.StringVar(&c.Send, "send", "", "udp-stream, udp-search: single, mmsg (sendmmsg), gso (UDP_SEGMENT) or xdp (AF_XDP, past this machine's IP stack) (default single)")
	fs.IntVar(&c.Batch, "batch", 0, "udp-stream, udp-search: datagrams per call (default 1 for single, 32 for mmsg and xdp, as many as one buffer holds, at most 64, for gso)")
	fs.StringVar(&c.Recv, "recv", "", "udp-stream, udp-search: single, mmsg (recvmmsg) or gro (UDP_GRO) (default gro for gso, else mmsg)")
	fs.Func("nap", "udp-stream, udp-search: polling interval of the receiver, instead of waking up for every datagram; 0 waits, and gro naps and waits in turn (default 50µs, with gro 200µs, or less if the buffer is small; 0 with --rate)", func(s string) (err error) {
		if c.Nap, err = time.ParseDuration(s); err == nil {
			err = event.Within("nap", c.Nap, 0, wire.MaxNap, "")
		}
		return err
	})
	fs.IntVar(&c.DSCP, "dscp", 0, "DSCP of the packets of both ends, 0..63")
	cpuFlag(fs, &c.cpus, "run the client only on these CPUs")
}

// finishTransfer sets defaults that depend on other flags.
func (c *config) finishTransfer() {
	unset, oneWay := c.Nap == napUnset, wire.OneWay(c.Workload)
	if oneWay {
		m := c.Mode().Filled()
		c.Send, c.Batch, c.Recv = m.Send, m.Batch, m.Recv
	}
	switch {
	case unset && oneWay && c.rate == 0:
		c.Nap = c.Mode().DefaultNap()
	case unset: // on a schedule, jitter is computed from the moment at which a datagram is read
		c.Nap = 0
	}
}

func cpuFlag(fs *flag.FlagSet, cpus *[]int, usage string) {
	fs.Func("cpu", usage+", such as 0 or 0,2-3", func(s string) (err error) { *cpus, err = parseCPUs(s); return err })
}

const maxCPU = 1023

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

// scheduled reports whether a workload's rate is a rate of requests.
func scheduled(workload string) bool {
	return workload == "udp-open" || strings.HasSuffix(workload, "-outage")
}

func (c *config) finishRequests() error {
	if c.rate == 0 && scheduled(c.Workload) {
		c.rate = event.DefaultRequests
		switch c.Workload {
		case "tcp-outage":
			c.rate = event.DefaultMessages
		case "connect-outage":
			c.rate = event.DefaultConnects
		}
	}
	// See tcpAsker.whyNot.
	pipeline := c.Workload == "tcp-rr" && c.Inflight > 1
	c.Stamps = c.stampEvery > 0 && wire.Echoing(c.Workload) && !wire.Web(c.Workload) && c.Workload != "tcp-crr" && !pipeline
	switch {
	case c.Workload == "udp-open", wire.Web(c.Workload) && c.rate > 0:
		return event.CheckRate(c.Workload, c.rate)
	case strings.HasSuffix(c.Workload, "-outage"):
		c.Stamps, c.Gap = true, event.OutageLimit(c.rate)
		return event.CheckOutages(c.Workload, c.rate, c.Duration)
	}
	return nil
}
