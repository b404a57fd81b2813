package place

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/kube"
	"github.com/weir-bench/weir/internal/target/remote"
)

// told is what a place has said.
type told []string

func (t *told) Say(s lang.Text)      { *t = append(*t, s.String()) }
func (t *told) Warn(ss ...lang.Text) { *t = append(*t, fmt.Sprint("warning: ", ss)) }
func (t *told) Note(s lang.Text)     { *t = append(*t, "note: "+s.String()) }

func TestAbout(t *testing.T) {
	for want, of := range map[string]study.Target{
		"a, b over SSH":                          {SSH: []string{"a", "b"}},
		"two nodes, in Kubernetes":               {Kube: &study.Kube{}},
		"all nodes of staging, in Kubernetes":    {Kube: &study.Kube{Context: "staging", Nodes: study.Nodes{study.AllNodes}}},
		"nodes n1, n2 of staging, in Kubernetes": {Kube: &study.Kube{Context: "staging", Nodes: study.Nodes{"n1", "n2"}}},
	} {
		if got := About(of).String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A study names its place, and a mistake in it is the user's.
func TestOf(t *testing.T) {
	p, err := Of(study.Study{}, remote.Programs{}, new(told))
	if err != nil || p.Machines != nil || p.Target != Lab.Target {
		t.Errorf("%+v, %v", p, err)
	}
	s := study.Default()
	s.Networks, s.Probes, s.Target = []study.Use{{Kind: "host"}}, []study.Use{{Kind: "ping"}}, study.Target{SSH: []string{"a", "b"}}
	if p, err = Of(s.Resolve(), remote.Programs{}, new(told)); err != nil || p.Machines == nil {
		t.Errorf("%+v, %v", p, err)
	}
	s.Target.Ports = "9-1"
	if _, err = Of(s.Resolve(), remote.Programs{}, new(told)); failure.Status(err) != int(failure.Usage) {
		t.Errorf("ports 9-1: %v", err)
	}
	s.Target, s.MaxTime = study.Target{}, time.Minute
	if err := Check(s.Resolve()); failure.Status(err) != int(failure.Usage) {
		t.Errorf("max-time alone: %v", err)
	}
}

// fakeMachines connect with an error, and take their time to close.
type fakeMachines struct {
	Machines
	connect, close error
	closing        time.Duration
	closed         chan struct{}
}

func (f fakeMachines) Connect(context.Context) error { return f.connect }
func (f fakeMachines) Close() error {
	defer close(f.closed)
	time.Sleep(f.closing)
	return f.close
}

// Whatever comes of the work, the machines are left, and the user hears what takes long.
func TestConnected(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		m     fakeMachines
		calls bool
		kind  int
		told  int
	}{
		{fakeMachines{}, true, 1, 0},
		{fakeMachines{close: broken}, true, 1, 1},
		{fakeMachines{closing: goodbyeSoon + time.Second}, true, 1, 1},
		{fakeMachines{closing: goodbye + time.Second}, true, 1, 2},
		{fakeMachines{connect: broken}, false, int(failure.Environment), 0},
		{fakeMachines{connect: fmt.Errorf("x: %w", new(kube.UsageError))}, false, int(failure.Usage), 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			c.m.closed = make(chan struct{})
			called, heard := false, new(told)
			err := connected(t.Context(), c.m, heard, func() error { called = true; return broken })
			if called != c.calls || failure.Status(err) != c.kind || len(*heard) != c.told {
				t.Errorf("%+v: called %v, %v, told %q", c.m, called, err, *heard)
			}
			<-c.m.closed // it can be late
		})
	}
}
