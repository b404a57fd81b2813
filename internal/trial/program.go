package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/target"
)

// grace is extra time for a program to get ready, round its warm-up to seconds, and report.
const grace = 10 * time.Second

// maxOutput bounds the kept output per stream, bytes.
const maxOutput = 16 << 20

// A program is one process and its output.
type program struct {
	node   target.Node
	argv   []string
	env    []string
	cpus   []int
	mark   *target.Mark
	stdin  *io.PipeReader // nil: none
	stdout output
	stderr output

	cancel context.CancelCauseFunc
	done   chan struct{} // closed when it has ended
	err    error         // valid once done is closed
}

var errStopped = errors.New("stopped")

// pipe returns a writer to standard input. After the program has ended, writes fail at once.
func (p *program) pipe() (w io.WriteCloser) {
	p.stdin, w = io.Pipe()
	return w
}

func (p *program) start(ctx context.Context, node target.Node, argv []string) {
	p.node, p.argv, p.done = node, argv, make(chan struct{})
	ctx, p.cancel = context.WithCancelCause(ctx)
	go func() {
		defer close(p.done)
		cmd := target.Cmd{Argv: argv, Env: p.env, Stdout: &p.stdout, Stderr: &p.stderr, CPUs: p.cpus, Mark: p.mark}
		if p.stdin != nil {
			cmd.Stdin = p.stdin
			defer p.stdin.CloseWithError(errors.New("it has ended"))
		}
		p.err = caught.Error(func() error { return node.Run(ctx, cmd) })
	}()
}

// wait returns the program's error with the end of its stderr.
func (p *program) wait() error {
	<-p.done
	p.cancel(nil)
	if p.err == nil || errors.Is(p.err, errStopped) {
		return nil
	}
	return p.saying(p.err)
}

func (p *program) saying(err error) error { return withTail(err, p.stderr.Bytes()) }

// logged adds the end of stdout to a server's error where stderr, which err already has, says nothing: some write their log there.
func (p *program) logged(err error) error {
	if err == nil || len(p.stderr.Bytes()) > 0 || isOrder(p.argv) { // the engine's stdout is its events
		return err
	}
	return withTail(err, p.stdout.Bytes())
}

// withTail adds the end of an output to err, in one line.
func withTail(err error, b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.ReplaceAll(b[max(0, len(b)-500):], []byte("\n"), []byte("; ")))
	}
	return err
}

// farewell bounds how long a server takes to print its result after its client has ended.
const farewell = time.Second

// alive reports whether a started program still runs.
func (p *program) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// stop ends the program and returns its error; nil when this call ended it.
func (p *program) stop() error {
	if p.done == nil {
		return nil // never started
	}
	p.cancel(errStopped)
	return p.wait()
}

// await polls up every 2 ms until it returns true, the program ends or grace is over.
func (p *program) await(ctx context.Context, what string, up func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, grace, fmt.Errorf("did not %s within %v", what, grace))
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !up() {
		select {
		case <-tick.C:
		case <-p.done:
			if err := p.wait(); err != nil {
				return p.logged(err)
			}
			return withTail(fmt.Errorf("ended before it could %s", what), p.stdout.Bytes())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// saysReady reports whether our own server has announced that it listens.
func (p *program) saysReady() bool { return p.stdout.said(event.MarkReady) }

// runs waits until at. It returns false as soon as the program has ended, otherwise true.
func (p *program) runs(at time.Time) bool {
	select {
	case <-time.After(time.Until(at)):
		return true
	case <-p.done:
		return false
	}
}

// splitCPUs gives client and server their own processors where they share a host with enough of them.
// On one processor a response does not wait for another to wake up, and the scheduler would decide
// anew in each trial whether the ends share one.
func splitCPUs(client, server target.Node) (cli, srv []int) {
	cpus := client.CPUs()
	if client.Host().ID != server.Host().ID || len(cpus) < 2 || !slices.Equal(cpus, server.CPUs()) {
		return nil, nil
	}
	return cpus[:len(cpus)/2], cpus[len(cpus)/2:]
}

// maxMark exceeds the length of any awaited event prefix, bytes.
const maxMark = 128

// output keeps a program's output and calls back for each line that begins like one of our events.
type output struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	from  int // start of the incomplete line
	lines []string
	on    func(line string) // called with the lock held: it must not block or use the output
}

// Write never fails: output beyond maxOutput is dropped without blocking the program.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if room := maxOutput - o.buf.Len(); room > 0 {
		o.buf.Write(b[:min(len(b), room)])
	}
	for {
		rest := o.buf.Bytes()[o.from:]
		n := bytes.IndexByte(rest, '\n')
		if n < 0 {
			return len(b), nil
		}
		o.from += n + 1
		if line := rest[:min(n, maxMark)]; bytes.HasPrefix(line, []byte(event.Mark)) {
			o.lines = append(o.lines, string(line))
			if o.on != nil {
				o.on(string(line))
			}
		}
	}
}

// said reports whether the output has an event line that begins with mark.
func (o *output) said(mark string) bool { return len(o.saying(mark)) > 0 }

// saying returns the event lines that begin with mark.
func (o *output) saying(mark string) (lines []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.lines {
		if strings.HasPrefix(l, mark) {
			lines = append(lines, l)
		}
	}
	return lines
}

func (o *output) Bytes() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.buf.Bytes())
}

// forget starts over with another callback.
func (o *output) forget(on func(line string)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Reset()
	o.from, o.lines, o.on = 0, nil, on
}
