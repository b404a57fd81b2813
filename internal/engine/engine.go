// Package engine is weir's own traffic generator: it sends, echoes, receives
// and counts with plain sockets, and prints what it saw as JSON lines.
//
// It runs as the process `weir engine …`, already placed where it belongs: it
// must not enter a namespace, change an interface or a sysctl, run a program, or
// know about networks, probes and studies. What it prints are counts, times and
// settings that were read back; ratios and rates are the reader's business.
//
// How it measures. Traffic runs on goroutines that are locked to threads with
// all signals blocked, over blocking sockets with a receive timeout: the
// runtime preempts with SIGURG, and a blocking recv with a timeout returns
// EINTR for it, which must be neither counted nor retried for ever. Garbage
// collection is off. TCP throughput is counted by the receiver on its own
// clock. UDP is a ladder of counts: offered, sent, received, delivered.
//
// The server of a workload, and the hog that takes CPU time, tell what they have
// done so far when they are asked (tally.go): they also run beside a measurement.
//
// Response times are taken apart by the kernel's time stamps of some requests
// (stamp.go, samples.go). With c0 before sending, c1 the request at the client's
// first device, s1 the request in the server's namespace, s2 in its program, s4
// the reply at the server's first device, c2 the reply in the client's namespace
// and c3 in its program:
//
//	path = (c2-c1) - (s4-s1)
//	wake = (s2-s1) + (c3-c2)
//	app  = (c1-c0) + (s4-s2)
//
// They add up to c3-c0. Each difference is of one machine's clock, so the two need
// not agree, and the way there cannot be told from the way back.
package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"runtime/debug"
	"strings"
)

// ErrUsage is in the chain of every error that the command line caused.
var ErrUsage = errors.New("engine: usage")

const usage = `weir engine serve ADDR:PORT
weir engine hog --share SHARE [flags]
weir engine run WORKLOAD ADDR:PORT [flags]    WORKLOAD is tcp-crr, tcp-rr, tcp-stream, udp-open, udp-rr or udp-stream
weir engine ping ADDR [flags]
weir engine reach ADDR:PORT --size BYTES [flags]
`

// memoryLimit lets the garbage collector, which is off, work after all before
// the process takes this many bytes.
const memoryLimit = 512 << 20

// Main runs `weir engine args…` until it is done or ctx is cancelled. Everything
// a program may read goes to stdout, one JSON object per line, the last one being
// {"event":"result",…} or {"event":"error",…}; help goes to stderr. serve and hog
// return nil when ctx is cancelled; the other commands then return its cause.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return command(ctx, args, events{w: stdout}, stderr)
}

// Asked is Main for serve and hog, which tell what they have done so far for every
// line of stdin; a hog ends with it.
func Asked(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return command(ctx, args, events{w: stdout, questions: stdin}, stderr)
}

// command runs a command, and tells of errors where programs read.
func command(ctx context.Context, args []string, out events, stderr io.Writer) error {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit))
	commands := map[string]func(context.Context, []string, events, io.Writer) error{
		"serve": serveMain, "run": runMain, "ping": pingMain, "reach": reachMain, "hog": hogMain,
	}
	if len(args) == 0 {
		return fmt.Errorf("%w: no command; one of hog, ping, reach, run, serve", ErrUsage)
	}
	do, ok := commands[args[0]]
	if !ok {
		return fmt.Errorf("%w: unknown command %q; one of hog, ping, reach, run, serve", ErrUsage, args[0])
	}
	err := do(ctx, args[1:], out, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil && !errors.Is(err, ErrUsage):
		// The reader of stdout learns why there is no result.
		return errors.Join(err, out.print(errorEvent{"error", err.Error()}))
	}
	return err
}

// parseFlags parses flags that follow the positional arguments names, which are
// returned in order.
func parseFlags(fs *flag.FlagSet, args []string, stderr io.Writer, names ...string) ([]string, error) {
	fs.SetOutput(io.Discard) // errors are returned, not printed twice
	fs.Usage = func() {}
	help := func() error {
		fmt.Fprint(stderr, usage)
		fs.SetOutput(stderr)
		fs.PrintDefaults()
		return flag.ErrHelp
	}
	var pos []string
	for _, name := range names {
		if len(args) > 0 && (args[0] == "-h" || args[0] == "--help" || args[0] == "-help") {
			return nil, help()
		}
		if len(args) == 0 || strings.HasPrefix(args[0], "-") {
			return nil, fmt.Errorf("%w: %s: %s is missing", ErrUsage, fs.Name(), name)
		}
		pos, args = append(pos, args[0]), args[1:]
	}
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil, help()
	} else if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUsage, fs.Name(), err)
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("%w: %s: unexpected argument %q", ErrUsage, fs.Name(), fs.Arg(0))
	}
	return pos, nil
}

// parseServer reads ADDR:PORT. Names are refused: looking one up would be
// traffic, and could answer differently in two places.
func parseServer(command, s string) (netip.AddrPort, error) {
	ap, err := netip.ParseAddrPort(s)
	if err != nil || ap.Addr().Zone() != "" {
		return ap, fmt.Errorf("%w: %s: %q is not a literal address without zone and a port, such as 10.64.1.1:5201 or [fd77::1]:5201", ErrUsage, command, s)
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), nil
}
