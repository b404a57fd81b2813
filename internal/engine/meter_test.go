package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// An asked is a program that counts, with its questions and its answers.
type asked struct {
	questions io.Writer
	answers   *bufio.Scanner
	end       func() error // closes stdin
}

// counting starts a command that counts, and returns it with its first line.
func counting(t *testing.T, args ...string) (asked, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in, questions := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Main(ctx, args, in, out)
		out.Close()
	}()
	t.Cleanup(func() { cancel(); questions.Close(); io.Copy(io.Discard, answers) })
	a := asked{questions, bufio.NewScanner(answers), func() error { questions.Close(); return <-done }}
	if !a.answers.Scan() {
		t.Fatalf("%v printed nothing: %v", args, <-done)
	}
	return a, a.answers.Text()
}

func (a asked) ask(t *testing.T) (c event.Count) {
	t.Helper()
	if _, err := a.questions.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if !a.answers.Scan() {
		t.Fatal("no answer")
	}
	if err := wire.StrictJSON(a.answers.Bytes(), &c); err != nil || c.Event != "count" {
		t.Fatalf("%s is no count: %v", a.answers.Text(), err)
	}
	return c
}

func TestMeter(t *testing.T) {
	needFamily(t, loopbacks[0])
	for _, workload := range wire.Workloads {
		// Its own server, which can still read the rest of a stream when the client has ended.
		a, line := counting(t, "serve", loopbacks[0], "--open", "--json", "--count")
		var ready struct{ Address string }
		if err := json.Unmarshal([]byte(line), &ready); err != nil {
			t.Fatal(err)
		}
		before := a.ask(t)
		if before.Bytes != 0 || before.Messages != 0 {
			t.Errorf("%s: %+v before the client came", workload, before)
		}
		args := short(workload, ready.Address)
		if workload == "tcp-stream" { // on one CPU, the server can be without it for 100 ms
			args = append(args, "--duration", "300ms")
		}
		lines, err := run(t, args...)
		if err != nil {
			t.Fatal(err)
		}
		var r struct{ Bytes, Delivered, Transactions, Size int64 }
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
			t.Fatal(err)
		}
		after := a.ask(t)
		if workload == "udp-stream" && (after.Messages != r.Delivered || after.Bytes != r.Bytes) {
			t.Errorf("%s: %+v, the result has %d bytes in %d datagrams", workload, after, r.Bytes, r.Delivered)
		}
		if workload == "tcp-stream" && (after.Bytes < r.Bytes || r.Bytes == 0 || after.Messages != 0) {
			t.Errorf("%s: %+v, the result has %d bytes", workload, after, r.Bytes)
		}
		if workload == "udp-search" && (after.Messages == 0 || after.Bytes != 18*after.Messages) {
			t.Errorf("%s: %+v, want datagrams of 18 bytes", workload, after)
		}
		if wire.Echoing(workload) && (after.Messages < r.Transactions || r.Transactions == 0 || after.Bytes != after.Messages*r.Size) { // and those of the warm-up
			t.Errorf("%s: %+v, the result has %d transactions of %d bytes", workload, after, r.Transactions, r.Size)
		}
		if after.At <= before.At {
			t.Errorf("%s: the clock goes from %d to %d", workload, before.At, after.At)
		}
	}
}

func TestHog(t *testing.T) {
	cpus, err := sock.OwnCPUs()
	if err != nil || len(cpus) == 0 {
		t.Fatalf("%v, %v", cpus, err)
	}
	for _, args := range []string{"--share 100%", "--share 1%", "--share 50% --period 1h"} {
		a, ready := counting(t, append([]string{"hog", "--cpu", strconv.Itoa(cpus[0])}, strings.Fields(args)...)...)
		if want := fmt.Sprintf(`{"event":"ready","cpus":[%d]}`, cpus[0]); ready != want {
			t.Fatalf("%s printed %s, not %s", args, ready, want)
		}
		first := a.ask(t)
		last := first
		for last.CPU-first.CPU < int64(defaultPeriod)/10 { // every share gets there
			last = a.ask(t)
		}
		if last.At-first.At < (last.CPU-first.CPU)/int64(len(cpus)+4) {
			t.Errorf("%s: %d ns of CPU time in %d ns", args, last.CPU-first.CPU, last.At-first.At)
		}
		if err := a.end(); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
	if _, err := run(t, "hog", "--share", "50%", "--cpu", "1023"); err == nil || !strings.Contains(err.Error(), "stay on CPU 1023") {
		t.Errorf("a CPU that is not there: %v", err)
	}
}

func TestPace(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	for _, streams := range []string{"1", "2"} {
		var r event.TCPStream
		const rate = 20e6
		measure(t, &r, "run", "tcp-stream", addr, "--cc", "reno", "--duration", "100ms", "--warmup", "50ms", "--rate", "20e6", "--streams", streams)
		if r.Size != 128<<10 {
			t.Errorf("%s streams: writes of %d bytes", streams, r.Size)
		}
		if r.Rate != rate {
			t.Errorf("%s streams: a rate of %g, want %g", streams, r.Rate, rate)
		}
		// Plus the queue at the start of the window, and data that gathers while the reader is off
		// its CPU.
		if most := int64(rate/8*r.Window) + 6*readSize; r.Bytes > most {
			t.Errorf("%s streams: %d bytes, more than %d", streams, r.Bytes, most)
		}
	}
}
