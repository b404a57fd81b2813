package engine

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
)

// A config is what `weir engine run` was asked for: the parameters that both
// ends know, and those of the client alone.
type config struct {
	params
	server  netip.AddrPort
	name    string // as it was typed
	host    string // of that
	port    uint16
	open    bool          // the server admits everybody, so a hello over UDP will do
	token   string        // "" when there is none
	every   time.Duration // from one line about the run to the next, for people; 0 is none
	rate    float64       // of streams bit/s of payload, 0 is as fast as they can; udp-open: requests/s
	sndBuf  int           // bytes; 0 leaves the kernel's choice
	timeout time.Duration // for connecting, for every answer, and for TCP to move on

	zerocopy bool
	cpus     []int // none is any

	goal goal // of udp-search

	stampEvery time.Duration // the shortest time between two stamped requests; 0 is none
}

// maxRate is far above any path, and keeps the schedule's arithmetic exact.
const maxRate = 1e13

// minEvery is the shortest time between two lines: they shall not be a load.
const minEvery = 100 * time.Millisecond

// runMain is `weir engine run`.
func runMain(ctx context.Context, args []string, to *events, help io.Writer) error {
	c, err := parseRun(args, to, help)
	if err != nil {
		return err
	}
	if err := stayOn(c.cpus); err != nil {
		return err
	}
	roomFor(c.Streams)
	s, release := stopWith(ctx)
	defer release()
	out := *to
	defer out.people.halt()
	if !c.open {
		c.server, err = resolve(ctx, c.host, c.port, c.timeout)
		if ctx.Err() != nil {
			return cancelled(ctx, errStopped)
		}
		if err != nil {
			return fmt.Errorf("engine: %w", err)
		}
	}
	var result any
	switch c.Workload {
	case "tcp-stream":
		result, err = runTCPStream(ctx, c, s, out)
	case "udp-stream", "udp-search":
		result, err = runDatagrams(ctx, c, s, out)
	case "tcp-rr":
		result, err = runTCPRR(ctx, c, s, out)
	case "udp-rr":
		result, err = runUDPRR(ctx, c, s, out)
	case "udp-open":
		result, err = runUDPOpen(ctx, c, s, out)
	case "tcp-crr":
		result, err = runTCPCRR(ctx, c, s, out)
	}
	if err != nil {
		return cancelled(ctx, err)
	}
	return out.print(result)
}

func parseRun(args []string, out *events, help io.Writer) (config, error) {
	c := config{params: params{Weir: version, Run: rand.Uint32N(maxRun + 1)}, open: out.order}
	var source tokenSource
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.DurationVar(&c.Duration, "duration", 10*time.Second, "of the measured window")
	fs.DurationVar(&c.Warmup, "warmup", 0, "traffic before the window, not counted")
	fs.IntVar(&c.Size, "size", 0, "bytes per write, datagram or message (default 131072 for tcp-stream, 1400 for udp-stream, 18 for udp-search, 64 else)")
	fs.Float64Var(&c.rate, "rate", 0, "tcp-stream, udp-stream: bit/s of payload, of all streams together, 0 is as fast as they can; udp-open: requests/s (default 2000)")
	fs.IntVar(&c.Streams, "streams", 1, "tcp-stream: connections")
	fs.StringVar(&c.CC, "cc", "cubic", "TCP congestion control, set at both ends")
	fs.IntVar(&c.sndBuf, "sndbuf", 0, "bytes asked for the client's send buffer; 0 leaves it")
	fs.IntVar(&c.RcvBuf, "rcvbuf", 0, "bytes asked for the server's receive buffer; 0 leaves it (UDP: 4 MiB)")
	fs.DurationVar(&c.timeout, "timeout", 3*time.Second, "for connecting, for every answer of the server, and for TCP to move on")
	c.transferFlags(fs)
	c.requestFlags(fs)
	c.searchFlags(fs)
	fs.DurationVar(&c.every, "interval", time.Second, "from one line about the run to the next; 0 prints the summary alone")
	fs.StringVar(&source.word, "token", "", "`token` of the server; other users of this machine can read it in the list of processes")
	fs.StringVar(&source.file, "token-file", "", "`file` with the token (default $"+tokenVariable+")")
	json := jsonFlag(fs, out)
	pos, err := parseFlags(fs, args, runHelp(help, fs), "WORKLOAD", "HOST[:PORT]")
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
	if !*json {
		out.people = &people{w: out.w, every: c.every}
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
	if err = c.check(); err == nil {
		err = c.finishRequests()
	}
	if err == nil {
		err = c.finishSearch()
	}
	switch {
	case err != nil:
	case c.port == 0:
		err = fmt.Errorf("port 0 of %s is not a port to connect to", c.name)
	case c.every < 0 || c.every > 0 && c.every < minEvery || c.every > maxTime:
		err = fmt.Errorf("interval %v is outside %v..%v, and not 0", c.every, minEvery, maxTime)
	case math.IsNaN(c.rate) || c.rate < 0 || c.rate > maxRate:
		err = fmt.Errorf("rate %g is outside 0..%g bit/s", c.rate, float64(maxRate))
	case c.rate > 0 && c.Workload != "tcp-stream" && c.Workload != "udp-stream" && c.Workload != "udp-open":
		err = fmt.Errorf("%s: --rate is for tcp-stream, udp-open and udp-stream", c.Workload)
	case c.rate > 0 && c.Workload == "tcp-stream" && c.rate < event.MinPaced*float64(c.Streams):
		err = fmt.Errorf("tcp-stream: rate %g is below the %d bit/s that a stream can be paced to", c.rate, event.MinPaced)
	case c.zerocopy && c.Workload != "tcp-stream":
		err = fmt.Errorf("%s: --zerocopy is for tcp-stream alone", c.Workload)
	case c.sndBuf < 0 || c.sndBuf > maxBuffer:
		err = fmt.Errorf("send buffer %d is outside 0..%d bytes", c.sndBuf, maxBuffer)
	case c.timeout <= 0 || c.timeout > maxTime:
		err = fmt.Errorf("timeout %v is outside 1ns..%v", c.timeout, maxTime)
	}
	if err != nil {
		return c, fmt.Errorf("%w: run: %w", ErrUsage, err)
	}
	return c, nil
}
