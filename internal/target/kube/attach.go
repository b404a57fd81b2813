package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/target/agent"
	"github.com/weir-bench/weir/internal/target/remote"
)

// An attached agent is process 1 of a pod.
type attached struct {
	node  *agent.Node
	links []remote.Link
}

// attach makes an agent of the process in the pod of s.
func (t *Target) attach(ctx context.Context, s *seat) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var push *remote.Programs
	if t.Image == "" {
		push = &t.Programs
	}
	n, err := t.dial(ctx, s, t.nodeName(s), push, "attach", "--stdin", "--quiet", "--container=weir", "pod/"+s.pod)
	if err != nil {
		return err
	}
	return s.take(ctx, n)
}

// dial makes a node called name of a process in the pod of s, through a call of kubectl.
func (t *Target) dial(ctx context.Context, s *seat, name string, push *remote.Programs, args ...string) (*agent.Node, error) {
	in, was := t.inside(), *s
	pipe, err := remote.Start(in.argv(args...), nil)
	if err != nil {
		return nil, err
	}
	l := &line{Pipe: pipe, why: func() string { return in.why(was) }, over: make(chan struct{})}
	n, _, err := remote.Dial(ctx, name, l, push)
	if err == nil {
		return n, nil
	}
	if said := bounded(oneLine(pipe.Said())); !strings.Contains(err.Error(), said) {
		err = fmt.Errorf("%w: kubectl: %s", err, said)
	}
	if fix := remedy(pipe.Said()); fix != "" {
		return nil, advise(fix, "%s (%s): %w", s, s.pod, err)
	}
	return nil, fmt.Errorf("%s (%s): %w", s, s.pod, err)
}

// take makes n the agent of a seat.
func (s *seat) take(ctx context.Context, n *agent.Node) (err error) {
	h, at := n.Host(), s.at
	h.Name = at.Name
	own := h.Facts
	h.Facts = func(ctx context.Context) (facts.Facts, error) {
		f, err := own(ctx)
		if at.kernel != "" && f.Kernel != at.kernel {
			f.Sandbox = cmp.Or(f.Sandbox, "sandboxed") // one that hides its name
		}
		return f, err
	}
	s.agent = &attached{node: n}
	s.agent.links, err = remote.Links(ctx, n)
	return err
}

// A line is the pipe to a pod. When it breaks, it asks the cluster why.
type line struct {
	*remote.Pipe
	why     func() string
	ended   atomic.Bool
	reading atomic.Bool
	over    chan struct{} // closed after the first Read that failed
	once    sync.Once
}

func (l *line) Read(b []byte) (int, error) {
	l.reading.Store(true)
	defer l.reading.Store(false)
	n, err := l.Pipe.Read(b)
	if err != nil {
		if !l.ended.Swap(true) {
			if why := l.why(); why != "" {
				err = fmt.Errorf("%s (%w)", why, err)
			}
		}
		l.once.Do(func() { close(l.over) })
	}
	return n, err
}

// Write, when it fails, waits for a concurrent Read to learn the reason. The connection then ends with that reason.
func (l *line) Write(b []byte) (int, error) {
	n, err := l.Pipe.Write(b)
	if err != nil && l.reading.Load() && !errors.Is(err, os.ErrClosed) {
		select {
		case <-l.over:
		case <-time.After(whyTime):
		}
	}
	return n, err
}

func (l *line) Close() error {
	l.ended.Store(true)
	return l.Pipe.Close()
}

// why asks the cluster for the reason that the connection to a pod broke; "" if it does not answer.
func (k kubectl) why(s seat) string {
	ctx, cancel := context.WithTimeout(context.Background(), whyTime)
	defer cancel()
	name := fmt.Sprintf("pod %s on node %s", s.pod, s.at.Name)
	for range 4 { // its state can lag behind
		var p pod
		err := k.get(ctx, &p, "pod", s.pod)
		switch {
		case notFound(err):
			return name + " was deleted" + k.jobEnd(ctx, s)
		case err != nil:
			return ""
		}
		if end := p.end(); end != "" {
			return name + ": " + end
		}
		if pause(ctx, pollTime) != nil {
			return ""
		}
	}
	return name + " still runs, but the connection to it broke"
}

// jobEnd returns why the Job of a deleted pod failed, if it did.
func (k kubectl) jobEnd(ctx context.Context, s seat) string {
	var j jobObject
	if err := k.get(ctx, &j, "job", s.job); err != nil {
		return ""
	}
	return j.end()
}
