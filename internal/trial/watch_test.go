package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

// busyHost is a setup with a window of d on a host whose threads use CPU time by the clock: one all of it, one a
// quarter, and one that a guest of another place uses.
func busyHost(t *testing.T, d time.Duration) (s Setup, raw map[string]string, asked *[]string) {
	s, cli, srv, raw := setup()
	s.Warmup, s.Duration = 0, d
	s.Site.Spaces = func() map[string]string { return map[string]string{"11": "h1", "12": "h2"} }
	asked = new([]string)
	plain := cli.host.Sample
	begin := time.Now()
	cli.host.Sample = func(ctx context.Context, sources ...string) (target.Reading, error) {
		r, err := plain(ctx, slices.DeleteFunc(slices.Clone(sources), func(s string) bool { return strings.HasSuffix(s, "threads") })...)
		for _, source := range sources {
			if strings.HasSuffix(source, "threads") {
				*asked = append(*asked, source)
				on := time.Since(begin).Seconds()
				r.Counters["task.5.5.11.iperf9"] = on
				r.Counters["task.6.7.12.qemu/CPU_0/KVM"] = on / 4
				r.Counters["task.6.8.12.qemu/CPU_0/KVM"] = on / 8
				r.Counters["task.0.3.0.ksoftirqd/1"] = on / 50
				r.Counters["task.9.9.99.idle"] = 1
			}
		}
		return r, err
	}
	cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
		fmt.Fprintln(stdout, event.MarkBegin)
		time.Sleep(d)
		srv.add(0, 1000, 0)
		fmt.Fprintln(stdout, event.MarkEnd)
		fmt.Fprintln(stdout, rate)
		return nil
	}
	return s, raw, asked
}

func TestWatch(t *testing.T) {
	for _, c := range []struct {
		window time.Duration
		least  int // samples
		most   int
		finds  int // of new threads
	}{
		{50 * time.Millisecond, 2, 4, 0}, {time.Second, 6, 10, 1}, {2 * time.Second, 22, 28, 3}, {3 * time.Minute, 600, 620, 50},
	} {
		t.Run(c.window.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, raw, asked := busyHost(t, c.window)
				start(t, &s)
				r, err := Run(t.Context(), s)
				if err != nil || r.Status != record.OK {
					t.Fatalf("%s %s, %v", r.Status, r.Reason, err)
				}
				all, err := sample.ParseSeries([]byte(raw["inside.jsonl"]))
				if err != nil || len(all) != 1 {
					t.Fatalf("%d series, %v", len(all), err)
				}
				x, thread := all[0], record.CPUThread.Thread
				if n := len(x.At); n < c.least || n > c.most || time.Duration(x.End-x.Begin).Round(time.Millisecond) != c.window {
					t.Errorf("%d samples, want %d to %d; window %v", n, c.least, c.most, time.Duration(x.End-x.Begin))
				}
				for key, want := range map[record.Key]float64{thread("h1", "iperf9", ""): 1, thread("h2", "qemu", "CPU_0/KVM"): 0.25, thread("", "ksoftirqd", "1"): 0.02} {
					if v, ok := r.Value(key); !ok || math.Abs(v.Value-want) > 0.001 {
						t.Errorf("%s is %v, want %v", key, v.Value, want)
					}
				}
				if v, ok := r.Value(thread("", "idle", "")); ok {
					t.Errorf("an idle thread is a value: %v", v)
				}
				of := map[string]int{}
				for _, source := range *asked {
					of[source]++
				}
				if of[sample.FindThreads] != 1 || of[sample.NewThreads] < c.finds || of[sample.ForgetThreads] != 1 || (*asked)[len(*asked)-1] != sample.ForgetThreads {
					t.Errorf("sources %v, want one search, %d for new threads, and files closed last", of, c.finds)
				}
			})
		})
	}
}

// A host that cannot be sampled at the beginning or at the end of a trial leaves no series that a reader
// would refuse.
func TestWatchFails(t *testing.T) {
	for name, fails := range map[string]func(source string, asked int) bool{
		"first": func(source string, _ int) bool { return source == sample.FindThreads },
		"last":  func(_ string, asked int) bool { return asked > 3 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, raw, asked := busyHost(t, time.Second)
				host := s.Site.Nodes[s.Client.Node].Host()
				sampled := host.Sample
				host.Sample = func(ctx context.Context, sources ...string) (target.Reading, error) {
					r, err := sampled(ctx, sources...)
					if strings.HasSuffix(sources[0], "threads") && fails(sources[0], len(*asked)) {
						return target.Reading{}, errors.New("the host is gone")
					}
					return r, err
				}
				start(t, &s)
				if _, err := Run(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				if b := raw["inside.jsonl"]; b != "" {
					all, err := sample.ParseSeries([]byte(b))
					if err != nil || len(all) != 1 || all[0].CPUs == 0 {
						t.Errorf("%+v, %v", all, err)
					}
				} else if name == "first" {
					t.Error("no series")
				}
			})
		})
	}
}

// A trial that shares its hosts with others, or has no window, is not watched; nor are threads left open.
func TestNotWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, raw, asked := busyHost(t, time.Second)
		srv := s.Site.Nodes["h2"].(*node)
		s.Site.Nodes["h1"].(*node).run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
			srv.add(0, 1000, 0)
			fmt.Fprintln(stdout, rate)
			return nil
		}
		start(t, &s)
		r, err := Run(t.Context(), s)
		if err != nil || r.Status != record.OK || raw["inside.jsonl"] != "" {
			t.Errorf("%s %s, %v, %q", r.Status, r.Reason, err, raw["inside.jsonl"])
		}
		if (*asked)[len(*asked)-1] != sample.ForgetThreads {
			t.Errorf("threads stay open: %v", *asked)
		}
	})
	s, _, _, _ := setup()
	s.sharing = 1
	if w := s.watch(t.Context()); w != nil || w.finish(t.Context(), &s) != nil {
		t.Error("concurrent trials are watched")
	}
}

// A guest's device is expensive to read: its host's end of the path stands for it.
func TestDeviceOf(t *testing.T) {
	s, _, _, _ := setup()
	s.Plan.Expect = append(s.Plan.Expect, plan.Expect{State: plan.State{In: "h2", Dev: "vx0"}, Proof: plan.Proof{MustCarry: true}})
	guest := plan.End{Node: "h2p1", Host: "h2", Dev: "eth0"}
	s.Server = guest
	s.Site.Spaces = func() map[string]string { return map[string]string{"11": "h1", "12": "h2"} }
	s.Plan.Expect = s.Plan.Expect[1:]
	if n, dev := s.deviceOf(guest); n == nil || n.Name() != "h2" || dev != "vx0" {
		t.Errorf("%v %s, want vx0 of h2", n, dev)
	}
	if n, dev := s.deviceOf(s.Client); n == nil || n.Name() != "h1" || dev != "eth0" {
		t.Errorf("%v %s, want eth0 of h1", n, dev)
	}
	s.Plan.Expect = nil
	if n, _ := s.deviceOf(guest); n != nil {
		t.Errorf("%v stands for a guest without a path", n)
	}
}
