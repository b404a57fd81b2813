// Package engine is weir's traffic generator: it sends, echoes, receives and counts over plain
// sockets, and prints the result as JSON lines.
//
// It runs as `weir engine …` in the namespace where it belongs. It must not enter namespaces,
// change interfaces or sysctls, run programs, or know about networks, probes and studies. It prints
// counts, times and settings that it reads back; the reader computes rates and ratios.
//
// This package holds the workloads and the command line. Below it are event (output), wire (the
// protocol between client and server), sock (system calls and hot loops) and tally (counting,
// without I/O).
//
// Traffic runs on goroutines locked to threads with all signals blocked, over blocking sockets with
// a receive timeout: the runtime preempts with SIGURG, which makes a blocking recv with a timeout
// return EINTR, and that must neither be counted nor retried forever. Garbage collection is off.
// The receiver counts TCP throughput on its own clock. UDP counts form a ladder: offered, sent,
// received, delivered. A search for the rate that a path carries without loss consists of many
// short phases of such a stream (tally.Search decides, udpstream.go acts).
//
// Threads that carry traffic read what the kernel has accounted to them and their connections, only at
// the edges of the measured window: CPU time, run-queue wait, TCP_INFO (sock.Gauge, event.Own).
//
// The server and the hog, which takes CPU time, also run in the background of a measurement, so
// they report their counts so far on request (tally.Meter).
//
// Kernel time stamps of some requests split response times into parts (sock.Stamped,
// tally.Samples). With c0 before sending, c1 the request at the client's first device, s1 the
// request in the server's namespace, s2 in its program, s4 the reply at the server's first device,
// c2 the reply in the client's namespace and c3 in its program:
//
//	path = (c2-c1) - (s4-s1)
//	wake = (s2-s1) + (c3-c2)
//	app  = (c1-c0) + (s4-s2)
//
// They add up to c3-c0. Each difference is taken on one machine's clock, so the two clocks need not
// agree; the two directions cannot be separated.
package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"runtime/debug"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
)

var (
	// ErrUsage is in the chain of every error in the command line.
	ErrUsage = errors.New("engine: usage")
	// ErrEnvironment is in the chain of errors caused by the setup of this machine.
	ErrEnvironment = errors.New("engine: environment")
)

// environmental is an error whose chain has ErrEnvironment, without its words.
type environmental struct{ error }

func (e environmental) Unwrap() error        { return e.error }
func (e environmental) Is(target error) bool { return target == ErrEnvironment }

// stayOn restricts this process to CPUs.
func stayOn(cpus []int) error {
	if err := sock.StayOn(cpus); err != nil {
		return environmental{err}
	}
	return nil
}

// memoryLimit, in bytes, is where the garbage collector runs although it is off.
const memoryLimit = 512 << 20

// Main runs `weir engine args…` until it is done or ctx is canceled, and then returns the cause.
// Results and help go to stdout: one object of package event per line, the last a result or an error. With a non-nil stdin, hog (which ends at its end) and serve --count answer
// each of its lines with their counts so far.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	return command(ctx, args, events{w: stdout, questions: stdin}, stdout)
}

// command runs a command and prints its errors.
func command(ctx context.Context, args []string, out events, help io.Writer) error {
	log.SetOutput(io.Discard) // quic-go warns of small buffers there; the engine's own errors are in its output
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit))
	commands := map[string]func(context.Context, []string, events, io.Writer) error{
		"serve": serveMain, "run": runMain, "nats": natsMain, "ping": pingMain, "reach": reachMain, "hog": hogMain,
	}
	if len(args) == 0 {
		return fmt.Errorf("%w: no command; want one of hog, nats, ping, reach, run, serve", ErrUsage)
	}
	run, ok := commands[args[0]]
	if !ok {
		return fmt.Errorf("%w: unknown command %q; want one of hog, nats, ping, reach, run, serve", ErrUsage, args[0])
	}
	err := run(ctx, args[1:], out, help)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil && !errors.Is(err, ErrUsage):
		failed := event.Error{Event: event.KindError, Error: err.Error()}
		if path := new(blockedError); errors.As(err, &path) {
			failed.Blocked = &path.what
		}
		return errors.Join(err, out.print(failed))
	}
	return err
}

// maxOrder is longer than any order, bytes.
const maxOrder = 64 << 10

// Agent is `weir engine agent`, an engine that stays, so a measurement does not wait for a process
// to start. Every line of stdin is an order: a JSON array with the arguments of another command,
// such as ["run","udp-rr","10.64.2.1:5202"]. The agent prints that command's output, with exactly
// one result or error per order, and ends with stdin.
//
// Servers are literal addresses. They are open, unless the agent's environment has their token
// (admit.go).
func Agent(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	orders := bufio.NewScanner(stdin)
	orders.Buffer(nil, maxOrder)
	for orders.Scan() {
		var args []string
		err := json.Unmarshal(orders.Bytes(), &args)
		if err != nil {
			err = fmt.Errorf("%w: invalid order, want a JSON array of strings: %w", ErrUsage, err)
		} else {
			err = command(ctx, args, events{w: stdout, order: true}, stderr)
		}
		if ctx.Err() != nil {
			return err
		}
		// The command has printed every other error itself.
		if errors.Is(err, ErrUsage) {
			if err := (events{w: stdout}).print(event.Error{Event: event.KindError, Error: err.Error()}); err != nil {
				return err
			}
		}
	}
	if err := orders.Err(); err != nil {
		return fmt.Errorf("engine: orders: %w", err)
	}
	return nil
}

// events reports a run as JSON lines, each in one write so that it is seen at once.
type events struct {
	w         io.Writer
	questions io.Reader // lines to answer; nil: none
	order     bool      // from an agent: addresses are literal, and servers without a token open
}

// begin marks the beginning of the measured window, end its end. If a mark cannot be written,
// neither can the result.
func (e events) begin() { _ = e.write(event.MarkBegin + "\n") }
func (e events) end()   { _ = e.write(event.MarkEnd + "\n") }

func (e events) print(v any) error {
	line, err := event.Line(v)
	if err != nil {
		return fmt.Errorf("engine: output: %w", err)
	}
	return e.write(string(line))
}

func (e events) write(line string) error {
	if _, err := io.WriteString(e.w, line); err != nil {
		return fmt.Errorf("engine: output: %w", err)
	}
	return nil
}

// onThread runs f on a thread of its own; see sock.OnThread.
func onThread[T any](f func() (T, error)) (v T, err error) {
	err = <-sock.OnThread(func() (err error) { v, err = f(); return err })
	return v, err
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// answer prints is() for every question, until the questions end.
func (e events) answer(is func() any) {
	if e.questions == nil {
		return
	}
	for lines := bufio.NewScanner(e.questions); lines.Scan(); {
		if e.print(is()) != nil {
			return // the reader is gone
		}
	}
}
