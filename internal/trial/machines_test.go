package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// twoMachines is a setup whose ends are machines that others use, too.
func twoMachines() (s Setup, cli, srv *node) {
	s, cli, srv, _ = setup()
	srv.host = hostOf(srv)
	s.Site.Private, s.Site.Topology.Exists = false, true
	return s, cli, srv
}

// On a machine that others use, only fragments in proportion to the trial's packets are the trial's.
func TestFragmentsOnASharedHost(t *testing.T) {
	for _, c := range []struct {
		fragments int
		status    record.Status
		warned    bool
	}{{0, record.OK, false}, {20, record.OK, true}, {60, record.Invalid, false}} {
		synctest.Test(t, func(t *testing.T) {
			s, cli, srv := twoMachines()
			cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
				fmt.Fprintln(stdout, event.MarkBegin)
				time.Sleep(time.Second)
				srv.add(0, 150_000, 0) // 100 packets of 1500 bytes
				cli.add(0, 0, c.fragments)
				fmt.Fprintln(stdout, event.MarkEnd)
				fmt.Fprintln(stdout, `{"event":"result","rate":1.2e6}`)
				return nil
			}
			start(t, &s)
			r, err := Run(t.Context(), s)
			if err != nil || r.Status != c.status {
				t.Errorf("%d fragments: %s %s, %v", c.fragments, r.Status, r.Reason, err)
			}
			if warned := strings.Contains(fmt.Sprint(r.Notes), "too few to be those of this trial"); warned != c.warned {
				t.Errorf("%d fragments: notes %q", c.fragments, r.Notes)
			}
		})
	}
}

// What others use is all that a machine did, less the processes of the trial's agents there. Clocks of two
// machines can be any time apart.
func TestOthersByMachine(t *testing.T) {
	s, _, _ := twoMachines()
	s.Site.Nodes["h2"].Host().Name = "b.example"
	x := &execution{}
	x.readings.First, x.readings.Last = newReading(), newReading()
	cpu := func(user float64) sample.Counters {
		return sample.Counters{"cpu.user": user, "cpu0.idle": 0, "cpu1.idle": 0, "frequency": 2e9}
	}
	own := func(user float64) sample.Counters { return sample.Counters{"proc.user": user, "proc.system": 0} }
	x.readings.First.Hosts["h1"] = target.Reading{At: time.Hour, Counters: cpu(100)}
	x.readings.Last.Hosts["h1"] = target.Reading{At: time.Hour + time.Second, Counters: cpu(100.7)}
	x.readings.First.Hosts["h2"] = target.Reading{At: time.Second, Counters: cpu(5)}
	x.readings.Last.Hosts["h2"] = target.Reading{At: 3 * time.Second, Counters: cpu(8)}
	x.readings.First.Nodes["h1"], x.readings.Last.Nodes["h1"] = own(40), own(40.6)
	x.readings.First.Nodes["h2"], x.readings.Last.Nodes["h2"] = own(1), own(2)
	r := record.Result{}
	s.surroundings(&r, x)
	const other = "b.example"
	for key, want := range map[record.Key]float64{record.OthersUser.On("h1"): 0.1, record.OthersUser.On(other): 1, record.OthersUser.Whole(): 1.1,
		record.OthersSystem.On("h1"): 0, record.CPUs.Whole(): 4, record.CPUs.On("h1"): 2, record.CPUs.On(other): 2, record.CPUFrequency.On("h1"): 2e9} {
		if got, ok := r.Value(key); !ok || math.Abs(got.Value-want) > 1e-9 {
			t.Errorf("%s is %v, want %g", key, got, want)
		}
	}
	// An agent that restarted says nothing about its processes.
	delete(x.readings.Last.Nodes["h2"], "proc.user")
	r = record.Result{}
	s.surroundings(&r, x)
	if _, ok := r.Get("others.user"); ok {
		t.Error("others are known although one machine's are not")
	}
	if got, _ := r.Value(record.OthersUser.On("h1")); math.Abs(got.Value-0.1) > 1e-9 {
		t.Errorf("others on h1: %v", got)
	}
}

// Two pods of one node have an agent each: the processes of both belong to the trial.
func TestOwnProcessesOfTwoAgents(t *testing.T) {
	s, cli, srv := twoMachines()
	srv.host = cli.host
	x := &execution{}
	x.readings.First, x.readings.Last = newReading(), newReading()
	for i, r := range []reading{x.readings.First, x.readings.Last} {
		r.Hosts["h1"] = target.Reading{At: time.Duration(i) * time.Second, Counters: sample.Counters{"cpu.user": float64(i)}}
		r.Nodes["h1"] = sample.Counters{"proc.user": float64(i) * 0.5, "proc.system": 0}
		r.Nodes["h2"] = sample.Counters{"proc.user": float64(i) * 0.3, "proc.system": 0}
	}
	r := record.Result{}
	s.surroundings(&r, x)
	if got, ok := r.Get("others.user"); !ok || math.Abs(got.Value-0.2) > 1e-9 {
		t.Errorf("others %v, want 0.2", got)
	}
}

// A machine that is lost before or during a round fails its own trial. Pairs of machines of their own know
// their cost.
func TestLostMachineOfARound(t *testing.T) {
	for _, c := range []struct {
		lost   int // check of h4 that fails, from 1
		reason string
	}{{1, "before: h4: "}, {2, "h4: "}, {3, ""}} {
		synctest.Test(t, func(t *testing.T) {
			ss, nodes, _ := two(t)
			for _, n := range nodes {
				n.host = hostOf(n)
			}
			site := ss[0].Site
			site.Private, site.Topology.Exists = false, true
			for i := range ss {
				ss[i].Plan.Expect = append(ss[i].Plan.Expect, plan.Expect{State: plan.State{In: "h4", Dev: "eth0", MTU: 1500}})
			}
			checks := 0
			site.Verify = func(_ context.Context, states []plan.State) error {
				for _, state := range states {
					if state.In == "h4" {
						if checks++; checks == c.lost {
							return fmt.Errorf("h4: %w", target.ErrLost)
						}
					}
				}
				return nil
			}
			startAll(t, ss)
			rs, err := Together(t.Context(), ss)
			if err != nil || rs[0].Status != record.OK {
				t.Fatalf("%+v, %v", rs[0], err)
			}
			want := record.Failed
			if c.reason == "" {
				want = record.OK
			}
			if rs[1].Status != want || !strings.HasPrefix(rs[1].Reason, c.reason) {
				t.Errorf("lost at check %d: %s %s", c.lost, rs[1].Status, rs[1].Reason)
			}
			if busy, ok := rs[0].Get("cpu.busy"); !ok || math.Abs(busy.Value-0.3) > 1e-9 || rs[0].Observed["cost"] != "" {
				t.Errorf("cost %v, %q", busy, rs[0].Observed["cost"])
			}
		})
	}
}

// A snapshot asks for a file once, and again after an error that can pass.
func TestSnapshot(t *testing.T) {
	n := &reader{files: fstest.MapFS{"a": {Data: []byte("1\n")}}}
	s := Setup{Snapshot: new(Snapshot), Site: &target.Site{Topology: topo.Topology{Exists: true}}}
	for range 3 {
		if b, err := fs.ReadFile(s.files(n), "a"); string(b) != "1\n" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		if _, err := fs.ReadFile(s.files(n), "b"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v", err)
		}
		if _, err := fs.ReadFile(s.files(n), "lost"); !errors.Is(err, target.ErrLost) {
			t.Errorf("error %v", err)
		}
	}
	if n.opened != 5 {
		t.Errorf("opened %d files, want two once and one three times", n.opened)
	}
}

type reader struct {
	target.Node
	files  fs.FS
	opened int
}

func (r *reader) Name() string { return "h1" }
func (r *reader) FS() fs.FS    { return r }

func (r *reader) Open(name string) (fs.File, error) {
	r.opened++
	if name == "lost" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: target.ErrLost}
	}
	return r.files.Open(name)
}

// A foreign tool's window is read on both machines, too, and of two machines the one that received more
// says how its CPUs shared the packets.
func TestForeignToolOnTwoMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cli, srv := twoMachines()
		s.Probe, srv.port = tool{"iperf9"}, toolPort
		run := cli.run
		cli.run = func(ctx context.Context, argv []string, stdout, stderr io.Writer) error {
			time.Sleep(time.Second + time.Millisecond) // into the window, which begins after the warm-up, rounded up
			srv.add(20, 0, 0)
			return run(ctx, argv, stdout, stderr)
		}
		r, err := Run(t.Context(), s)
		if err != nil || r.Status != record.OK {
			t.Fatalf("%s %s, %v", r.Status, r.Reason, err)
		}
		if busy, ok := r.Get("cpu.busy"); !ok || busy.Value < 0.19 {
			t.Errorf("cpu.busy %v", busy)
		}
	})
	s, _, _ := twoMachines()
	x := &execution{}
	x.readings.First, x.readings.Last = newReading(), newReading()
	for id, packets := range map[string][2]float64{"h1": {50, 50}, "h2": {300, 100}} {
		x.readings.First.Hosts[id] = target.Reading{Counters: sample.Counters{}}
		x.readings.Last.Hosts[id] = target.Reading{At: time.Second, Counters: sample.Counters{"softnet.cpu0.processed": packets[0], "softnet.cpu1.processed": packets[1]}}
	}
	r := record.Result{}
	s.spread(&r, x)
	if got, _ := r.Get("rx.cpus"); math.Abs(got.Value-4.0/3) > 1e-9 {
		t.Errorf("rx.cpus %v, want the 400 packets of h2 divided by 300", got)
	}
}

// Full-size packets are cut if every one of them comes with fragments: others' fragments come at times.
func TestCuts(t *testing.T) {
	for _, c := range []struct {
		fragments []int // that come with each packet
		want      bool
	}{{[]int{0}, false}, {[]int{2, 0}, false}, {[]int{2, 2, 0}, false}, {[]int{2, 2, 2}, true}} {
		s, cli, _ := twoMachines()
		sent := 0
		cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
			cli.add(0, 0, c.fragments[sent])
			sent++
			fmt.Fprintln(stdout, `{"event":"result","rtt":0.001}`)
			return nil
		}
		start(t, &s)
		got, err := s.Engines.Cuts(t.Context(), s.Site, 1500, time.Second)
		if err != nil || got != c.want || sent != len(c.fragments) {
			t.Errorf("%v: cut %v after %d packets, %v", c.fragments, got, sent, err)
		}
	}
}
