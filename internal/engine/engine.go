// Package engine is weir's own traffic generator: it sends, echoes, receives and counts
// over plain sockets, and prints the result as JSON lines for programs or in words on a
// console.
//
// It runs as the process `weir engine …`, already placed where it belongs: it must not
// enter a namespace, change an interface or a sysctl, run a program, or know about
// networks, probes and studies. It prints counts, times and settings that it read back;
// rates and ratios are the reader's business.
//
// This package holds the workloads and the command line. Below it are event (what it
// prints), wire (what client and server tell each other), sock (system calls and hot
// loops) and tally (counting, without I/O).
//
// How it measures. Traffic runs on goroutines locked to threads that have all signals
// blocked, over blocking sockets with a receive timeout: the runtime preempts with
// SIGURG, for which a blocking recv with a timeout returns EINTR, which must be neither
// counted nor retried for ever. Garbage collection is off. The receiver counts TCP
// throughput on its own clock. UDP is a ladder of counts: offered, sent, received,
// delivered. To find how much a path carries without loss, many short phases of such a
// stream search for the rate (tally.Search decides, udpsearch.go acts).
//
// The server of a workload, and the hog that takes CPU time, report what they have done
// so far when asked (tally.Meter), since they also run in the background of a
// measurement.
//
// The kernel's time stamps of some requests split response times into parts
// (sock.Stamped, tally.Samples). With c0 before sending, c1 the request at the client's
// first device, s1 the request in the server's namespace, s2 in its program, s4 the
// reply at the server's first device, c2 the reply in the client's namespace and c3 in
// its program:
//
//	path = (c2-c1) - (s4-s1)
//	wake = (s2-s1) + (c3-c2)
//	app  = (c1-c0) + (s4-s2)
//
// They add up to c3-c0. Each difference is taken on one machine's clock, so the two
// clocks need not agree; the two directions cannot be separated.
package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/weir-bench/weir/internal/engine/event"
)

var (
	// ErrUsage is in the chain of every error in the command line.
	ErrUsage = errors.New("engine: usage")
	// ErrEnvironment is in the chain of errors about what this machine cannot do as it
	// is set up.
	ErrEnvironment = errors.New("engine: environment")
)

// memoryLimit makes the garbage collector, which is off, run after all before the
// process reaches this size, bytes.
const memoryLimit = 512 << 20

// Main runs `weir engine args…` until it is done or ctx is cancelled, and then returns
// the cause. Results and help go to stdout: with --json one object of package event per
// line, the last a result or an error.
func Main(ctx context.Context, args []string, stdout io.Writer) error {
	return command(ctx, args, &events{w: stdout}, stdout)
}

// Asked is Main for commands that report what they have done so far for every line of
// stdin: hog, which ends with stdin, and serve --count.
func Asked(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	return command(ctx, args, &events{w: stdout, questions: stdin}, stdout)
}

// command runs a command and prints errors where programs read.
func command(ctx context.Context, args []string, out *events, help io.Writer) error {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit))
	commands := map[string]func(context.Context, []string, *events, io.Writer) error{
		"serve": serveMain, "run": runMain, "ping": pingMain, "reach": reachMain, "hog": hogMain,
	}
	if len(args) == 0 {
		return fmt.Errorf("%w: no command; want one of hog, ping, reach, run, serve", ErrUsage)
	}
	run, ok := commands[args[0]]
	if !ok {
		return fmt.Errorf("%w: unknown command %q; want one of hog, ping, reach, run, serve", ErrUsage, args[0])
	}
	err := run(ctx, args[1:], out, help)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil && out.console == nil && !errors.Is(err, ErrUsage):
		// Tell the reader of stdout why there is no result.
		return errors.Join(err, out.print(event.Error{Event: event.KindError, Error: err.Error()}))
	}
	return err
}

// parseFlags parses flags that stand anywhere among the positional arguments names,
// which it returns in order. A name in brackets is optional; its value is "" if it is
// missing.
func parseFlags(fs *flag.FlagSet, args []string, help func(pos []string), names ...string) ([]string, error) {
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
	return pos, nil
}
