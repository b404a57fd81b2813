// Package engine is weir's own traffic generator: it sends, echoes, receives
// and counts with plain sockets, and prints what it saw, as JSON lines for programs
// and in words for people.
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
// clock. UDP is a ladder of counts: offered, sent, received, delivered. How much of it
// a path carries without loss is searched for by many short phases of such a stream
// (search.go decides, udpsearch.go does).
//
// The server of a workload, and the hog that takes CPU time, tell what they have
// done so far when they are asked (meter.go): they also run beside a measurement.
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
	"runtime/debug"
	"strings"

	"github.com/weir-bench/weir/internal/engine/event"
)

var (
	// ErrUsage is in the chain of every error that the command line caused.
	ErrUsage = errors.New("engine: usage")
	// ErrEnvironment is in that of what this machine, as it is set up, cannot do.
	ErrEnvironment = errors.New("engine: environment")
)

// memoryLimit lets the garbage collector, which is off, work after all before
// the process takes this many bytes.
const memoryLimit = 512 << 20

// Main runs `weir engine args…` until it is done or ctx is cancelled, of which it
// then returns the cause. What was measured, and help, go to stdout. With --json
// that is one JSON object per line, the last one being {"event":"result",…} or
// {"event":"error",…}.
func Main(ctx context.Context, args []string, stdout io.Writer) error {
	return command(ctx, args, &events{w: stdout}, stdout)
}

// Asked is Main for programs that tell what they have done so far for every line of
// stdin: hog, which ends with it, and serve --count.
func Asked(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	return command(ctx, args, &events{w: stdout, questions: stdin}, stdout)
}

// command runs a command, and tells of errors where programs read.
func command(ctx context.Context, args []string, out *events, help io.Writer) error {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit))
	commands := map[string]func(context.Context, []string, *events, io.Writer) error{
		"serve": serveMain, "run": runMain, "ping": pingMain, "reach": reachMain, "hog": hogMain,
	}
	if len(args) == 0 {
		return fmt.Errorf("%w: no command; one of hog, ping, reach, run, serve", ErrUsage)
	}
	run, ok := commands[args[0]]
	if !ok {
		return fmt.Errorf("%w: unknown command %q; one of hog, ping, reach, run, serve", ErrUsage, args[0])
	}
	err := run(ctx, args[1:], out, help)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil && out.people == nil && !errors.Is(err, ErrUsage):
		// The reader of stdout learns why there is no result.
		return errors.Join(err, out.print(event.Error{Event: event.KindError, Error: err.Error()}))
	}
	return err
}

// parseFlags parses flags that stand anywhere among the positional arguments
// names, which are returned in order. A name in brackets may be left out, and is
// then "".
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
