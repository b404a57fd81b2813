package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
)

// port is where servers listen. Every network has namespaces of its own, so
// one number serves all.
const port = 5201

// grace is how much longer than asked a program may take: to get ready, to
// round its warm-up up to seconds, to report.
const grace = 10 * time.Second

// maxOutput bounds what is kept of one stream of a program's output, bytes.
const maxOutput = 16 << 20

// maxMark is longer than any line that says that something begins or ends.
const maxMark = 128

// A program is one process of a trial and what it printed.
type program struct {
	node   target.Node
	argv   []string
	cpus   []int
	stdout output
	stderr output

	cancel context.CancelCauseFunc
	done   chan struct{} // closed when it has ended
	err    error         // valid then
}

var errStopped = errors.New("stopped")

// start runs argv on node until it ends by itself, stop is called or ctx is done.
func (p *program) start(ctx context.Context, node target.Node, argv []string) {
	p.node, p.argv, p.done = node, argv, make(chan struct{})
	ctx, p.cancel = context.WithCancelCause(ctx)
	go func() {
		defer close(p.done)
		p.err = node.Run(ctx, target.Cmd{Argv: argv, Stdout: &p.stdout, Stderr: &p.stderr, CPUs: p.cpus})
	}()
}

// wait returns how the program ended, with the end of what it said on stderr.
func (p *program) wait() error {
	<-p.done
	p.cancel(nil)
	if p.err == nil || errors.Is(p.err, errStopped) {
		return nil
	}
	if said := bytes.TrimSpace(p.stderr.Bytes()); len(said) > 0 {
		said = bytes.ReplaceAll(said[max(0, len(said)-500):], []byte("\n"), []byte("; "))
		return fmt.Errorf("%w: %s", p.err, said)
	}
	return p.err
}

// runs returns true when the time is at and the program still runs, and false
// as soon as it has ended.
func (p *program) runs(at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.done:
		return false
	}
}

// apart gives client and server processors of their own, where there are any to
// give: on one processor a response waits for no other to wake up, and whether
// both ends share one would be the scheduler's choice, trial by trial.
func apart(client, server target.Node) (cli, srv []int) {
	cpus := client.CPUs()
	if len(cpus) < 2 || !slices.Equal(cpus, server.CPUs()) {
		return nil, nil
	}
	return cpus[:len(cpus)/2], cpus[len(cpus)/2:]
}

// stop ends the program and returns how it ended; nil when it ended because of
// this call.
func (p *program) stop() error {
	if p.done == nil {
		return nil // never started
	}
	p.cancel(errStopped)
	return p.wait()
}

// ready returns when the server listens. Our own says so; of another one the
// node's socket tables tell, so that nobody connects who is not the client.
func (p *program) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, grace, fmt.Errorf("did not listen on port %d within %v", port, grace))
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		up := false
		if p.argv[0] == "weir" {
			up = p.stdout.has(probe.MarkReady)
		} else {
			for _, proto := range []string{"tcp", "udp"} {
				if ok, err := sample.Listening(p.node.FS(), proto, port); err == nil && ok {
					up = true
				}
			}
		}
		if up {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.done:
			if err := p.wait(); err != nil {
				return err
			}
			return errors.New("ended before it listened")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// output keeps what a program prints and calls back when it prints a line that
// somebody waits for.
type output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	from int // start of the line that is not complete yet
	seen []string
	on   map[string]func()
}

// Write never fails: a program that prints too much is cut off, not blocked.
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
		line := rest[:n]
		o.from += n + 1
		if bytes.HasPrefix(line, []byte(`{"event":`)) && len(line) < maxMark {
			o.seen = append(o.seen, string(line))
			if f := o.on[string(line)]; f != nil {
				f()
			}
		}
	}
}

// has reports whether an event line beginning with mark was printed.
func (o *output) has(mark string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.seen, func(line string) bool { return strings.HasPrefix(line, mark) })
}

// Bytes is valid until the next Write.
func (o *output) Bytes() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Bytes()
}
