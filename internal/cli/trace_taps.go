package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/internal/target"
)

// byTaps runs a tap in every node.
func (x *traced) byTaps(ctx context.Context, run func() error) (events []packettrace.Event, lost int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var taps []*tapProcess
	for _, name := range slices.Sorted(maps.Keys(x.site.Nodes)) {
		t := startTap(ctx, x.site.Nodes[name])
		taps = append(taps, t)
		if err = t.ready(); err != nil {
			break
		}
	}
	if err == nil {
		err = run()
	}
	for _, t := range taps {
		es, n, bad := t.stop()
		events, lost, err = append(events, es...), lost+n, errors.Join(err, bad)
	}
	packettrace.InOrder(events)
	return events, lost, err
}

// A tapProcess is `weir tap` in a node.
type tapProcess struct {
	node  string
	in    *io.PipeWriter
	out   *bytes.Buffer // valid once it has ended
	begun chan struct{} // closed with its first line
	ended chan error
}

func startTap(ctx context.Context, node target.Node) *tapProcess {
	r, w := io.Pipe()
	t := &tapProcess{node.Name(), w, &bytes.Buffer{}, make(chan struct{}), make(chan error, 1)}
	var said bytes.Buffer
	go func() {
		err := node.Run(ctx, target.Cmd{Argv: []string{"weir", "tap"}, Stdin: r, Stdout: &firstLine{t.out, t.begun}, Stderr: &said})
		if err != nil && said.Len() > 0 {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Bytes()))
		}
		r.CloseWithError(errors.New("the tap has ended"))
		t.ended <- err
	}()
	return t
}

// firstLine closes begun when the first bytes come: a line, which Tap prints in one write.
type firstLine struct {
	to    *bytes.Buffer
	begun chan struct{}
}

func (f *firstLine) Write(b []byte) (int, error) {
	if f.to.Len() == 0 {
		close(f.begun)
	}
	return f.to.Write(b)
}

func (t *tapProcess) ready() error {
	select {
	case <-t.begun:
		return nil
	case err := <-t.ended:
		t.ended <- err
		return fmt.Errorf("tap in %s ended early: %w", t.node, err)
	}
}

// stop ends the tap and returns its events.
func (t *tapProcess) stop() ([]packettrace.Event, int, error) {
	t.in.Close()
	if err := <-t.ended; err != nil {
		return nil, 0, fmt.Errorf("tap: %w", err)
	}
	return packettrace.ParseTap(t.node, t.out.Bytes())
}
