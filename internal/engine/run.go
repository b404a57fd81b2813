package engine

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A config is a parsed `weir engine run`: the parameters that both ends know, and those
// of the client.
type config struct {
	wire.Params
	server  netip.AddrPort
	name    string // as it was typed
	host    string // of name
	port    uint16
	open    bool          // the server admits everybody, so a hello over UDP suffices
	token   string        // "": none
	every   time.Duration // interval of lines on a console; 0: none
	rate    float64       // streams: bit/s of payload, 0: as fast as possible; udp-open: requests/s
	sndBuf  int           // bytes; 0 keeps the kernel's choice
	timeout time.Duration // for connecting, every answer, and progress of TCP

	zerocopy bool
	cpus     []int // nil: any

	goal goal // of udp-search

	stampEvery time.Duration // shortest time between two stamped requests; 0: none
}

// maxRate is far above any path and keeps the schedule's arithmetic exact.
const maxRate = 1e13

// minEvery is the shortest interval of lines on a console, which must not become a
// load.
const minEvery = 100 * time.Millisecond

// runMain is `weir engine run`.
func runMain(ctx context.Context, args []string, to *events, help io.Writer) error {
	c, err := parseRun(args, to, help)
	if err != nil {
		return err
	}
	if err := sock.StayOn(c.cpus); err != nil {
		return err
	}
	sock.RoomFor(c.Streams)
	s, release := sock.StopWith(ctx)
	defer release()
	out := *to
	defer out.console.halt()
	if !c.open {
		c.server, err = resolve(ctx, c.host, c.port, c.timeout)
		if ctx.Err() != nil {
			return sock.Cancelled(ctx, sock.ErrStopped)
		}
		if err != nil {
			return fmt.Errorf("engine: %w", err)
		}
	}
	run := map[string]func(context.Context, config, *sock.Stopper, events) (any, error){
		"tcp-stream": runTCPStream, "udp-stream": runDatagrams, "udp-search": runDatagrams,
		"tcp-rr": runTCPRR, "udp-rr": runUDPRR, "udp-open": runUDPOpen, "tcp-crr": runTCPCRR,
	}[c.Workload]
	result, err := run(ctx, c, s, out)
	if err != nil {
		return sock.Cancelled(ctx, err)
	}
	return out.print(result)
}

func parseRun(args []string, out *events, help io.Writer) (config, error) {
	c := config{Params: wire.Params{Weir: wire.Version, Run: rand.Uint32N(wire.MaxRun + 1)}, open: out.order}
	var source tokenSource
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.DurationVar(&c.Duration, "duration", 10*time.Second, "length of the measured window")
	fs.DurationVar(&c.Warmup, "warmup", 0, "time of traffic before the window, which is not counted")
	fs.IntVar(&c.Size, "size", 0, "bytes per write, datagram or message (default 131072 for tcp-stream, 1400 for udp-stream, 18 for udp-search, 64 otherwise)")
	fs.Float64Var(&c.rate, "rate", 0, "tcp-stream, udp-stream: bit/s of payload, all streams together, 0 sends as fast as possible; udp-open: requests/s (default 2000)")
	fs.IntVar(&c.Streams, "streams", 1, "tcp-stream: connections")
	fs.StringVar(&c.CC, "cc", "cubic", "TCP congestion control, set at both ends")
	fs.IntVar(&c.sndBuf, "sndbuf", 0, "bytes to request for the client's send buffer; 0 keeps the default")
	fs.IntVar(&c.RcvBuf, "rcvbuf", 0, "bytes to request for the server's receive buffer; 0 keeps the default (UDP: 4 MiB)")
	fs.DurationVar(&c.timeout, "timeout", 3*time.Second, "for connecting, for every answer of the server, and for progress of TCP")
	c.transferFlags(fs)
	c.requestFlags(fs)
	c.searchFlags(fs)
	fs.DurationVar(&c.every, "interval", time.Second, "print a line this often during the run; 0 prints only the summary")
	fs.StringVar(&source.word, "token", "", "`token` of the server; other users of this machine can read it in the process list")
	fs.StringVar(&source.file, "token-file", "", "`file` with the token (default $"+tokenVariable+")")
	jsonFlag(fs, out)
	pos, err := parseFlags(fs, out, args, runHelp(help, fs), "WORKLOAD", "HOST[:PORT]")
	if err != nil {
		return c, err
	}
	c.Workload, c.name = pos[0], pos[1]
	if c.open {
		if c.server, err = parseServer("run", c.name); err != nil {
			return c, err
		}
		c.port = c.server.Port()
	} else {
		c.host, c.port, err = splitHost(c.name)
		if err == nil && c.host == "" {
			err = fmt.Errorf("%q names no host", c.name)
		}
		if err == nil {
			c.token, err = source.read()
		}
	}
	if err != nil {
		return c, fmt.Errorf("%w: run: %w", ErrUsage, err)
	}
	if out.console != nil {
		out.console.every = c.every
	}
	if c.Size == 0 {
		c.Size = map[string]int{"tcp-stream": 128 << 10, "udp-stream": 1400, "udp-search": 18}[c.Workload]
	}
	if c.Size == 0 {
		c.Size = 64
	}
	if !strings.HasPrefix(c.Workload, "tcp-") {
		c.CC = ""
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

// check checks what only the client knows.
func (c *config) check() error {
	switch {
	case c.port == 0:
		return fmt.Errorf("cannot connect to port 0 of %s", c.name)
	case c.every != 0 && c.every < minEvery:
		return fmt.Errorf("interval %v is outside %v..%v and not 0", c.every, minEvery, wire.MaxTime)
	case c.Workload == "tcp-stream" && event.CheckPaced(c.rate, c.Streams) != nil:
		return event.CheckPaced(c.rate, c.Streams)
	}
	return cmp.Or(
		event.Within("interval", c.every, 0, wire.MaxTime, ""),
		event.Within("rate", c.rate, 0, maxRate, "bit/s"),
		event.Within("time between stamps", c.stampEvery, 0, wire.MaxTime, ""),
		event.Within("send buffer", c.sndBuf, 0, wire.MaxBuffer, "bytes"),
		event.Within("timeout", c.timeout, 1, wire.MaxTime, ""),
		wire.Only(c.rate > 0, c.Workload, "--rate is", "tcp-stream", "udp-open", "udp-stream"),
		wire.Only(c.zerocopy, c.Workload, "--zerocopy is", "tcp-stream"))
}
