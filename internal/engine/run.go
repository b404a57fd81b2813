package engine

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/netip"
	"time"
)

// A config is what `weir engine run` was asked for: the parameters that both
// ends know, and those of the client alone.
type config struct {
	params
	server  netip.AddrPort
	rate    float64       // of streams bit/s of payload, 0 is as fast as they can; udp-open: requests/s
	sndBuf  int           // bytes; 0 leaves the kernel's choice
	timeout time.Duration // for connecting, for every answer, and for TCP to move on

	zerocopy bool
	cpus     []int // none is any

	stampEvery time.Duration // the shortest time between two stamped requests; 0 is none
}

// maxRate is far above any path, and keeps the schedule's arithmetic exact.
const maxRate = 1e13

// runMain is `weir engine run`.
func runMain(ctx context.Context, args []string, out events, stderr io.Writer) error {
	c, err := parseRun(args, stderr)
	if err != nil {
		return err
	}
	if err := stayOn(c.cpus); err != nil {
		return err
	}
	roomFor(c.Streams)
	s, release := stopWith(ctx)
	defer release()
	var result any
	switch c.Workload {
	case "tcp-stream":
		result, err = runTCPStream(ctx, c, s, out)
	case "udp-stream":
		result, err = runUDPStream(ctx, c, s, out)
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

func parseRun(args []string, stderr io.Writer) (config, error) {
	c := config{params: params{Weir: version, Run: rand.Uint32N(maxRun + 1)}}
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.DurationVar(&c.Duration, "duration", time.Second, "of the measured window")
	fs.DurationVar(&c.Warmup, "warmup", 0, "traffic before the window, not counted")
	fs.IntVar(&c.Size, "size", 0, "bytes per write, datagram or message (default 131072 for tcp-stream, 1400 for udp-stream, 64 else)")
	fs.Float64Var(&c.rate, "rate", 0, "tcp-stream, udp-stream: bit/s of payload, of all streams together, 0 is as fast as they can; udp-open: requests/s (default 2000)")
	fs.IntVar(&c.Streams, "streams", 1, "tcp-stream: connections")
	fs.StringVar(&c.CC, "cc", "cubic", "TCP congestion control, set at both ends")
	fs.IntVar(&c.sndBuf, "sndbuf", 0, "bytes asked for the client's send buffer; 0 leaves it")
	fs.IntVar(&c.RcvBuf, "rcvbuf", 0, "bytes asked for the server's receive buffer; 0 leaves it (UDP: 4 MiB)")
	fs.DurationVar(&c.timeout, "timeout", 3*time.Second, "for connecting, for every answer of the server, and for TCP to move on")
	c.transferFlags(fs)
	c.requestFlags(fs)
	pos, err := parseFlags(fs, args, stderr, "WORKLOAD", "ADDR:PORT")
	if err != nil {
		return c, err
	}
	c.Workload = pos[0]
	if c.server, err = parseServer("run", pos[1]); err != nil {
		return c, err
	}
	if c.Size == 0 {
		c.Size = map[string]int{"tcp-stream": 128 << 10, "udp-stream": 1400}[c.Workload]
	}
	if c.Size == 0 {
		c.Size = 64
	}
	c.finishTransfer()
	if err = c.check(); err == nil {
		err = c.finishRequests()
	}
	switch {
	case err != nil:
	case c.server.Port() == 0:
		err = fmt.Errorf("port 0 of %v is not a port to connect to", c.server)
	case math.IsNaN(c.rate) || c.rate < 0 || c.rate > maxRate:
		err = fmt.Errorf("rate %g is outside 0..%g bit/s", c.rate, float64(maxRate))
	case c.rate > 0 && c.Workload != "tcp-stream" && c.Workload != "udp-stream" && c.Workload != "udp-open":
		err = fmt.Errorf("%s: --rate is for tcp-stream, udp-open and udp-stream", c.Workload)
	case c.rate > 0 && c.Workload == "tcp-stream" && c.rate < minPaced*float64(c.Streams):
		err = fmt.Errorf("tcp-stream: rate %g is below the %d bit/s that a stream can be paced to", c.rate, minPaced)
	case c.Streams != 1 && c.Workload != "tcp-stream":
		err = fmt.Errorf("%s: --streams is for tcp-stream alone", c.Workload)
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
