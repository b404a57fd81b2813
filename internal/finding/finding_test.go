package finding

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/record"
)

// sound returns a run without findings.
func sound(blocks int) (rs []record.Result) {
	for b := 1; b <= blocks; b++ {
		speed := 1e9 * (1 + 0.1*math.Sin(float64(b)))
		for i, n := range []string{"host", "vx"} {
			rs = append(rs, record.Result{Trial: fmt.Sprintf("b%03d-%s", b, n), Block: b, Status: record.OK,
				Start: time.Unix(int64(10*b+i), 0), Elapsed: 1,
				Config:   map[string]string{"network": n, "probe": "tcp-stream"},
				Observed: map[string]string{"tool": "weir engine"},
				Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: speed / float64(i+1) * (1 + 0.001*float64((7*b+3*i*b)%5))},
					{Name: "others.user", Unit: "core"}, {Name: "cpu.softirq.busiest", Unit: "core", Value: 0.5},
					{Name: "cpu.accounted", Unit: "1", Value: 0.99}, {Name: "cpu.used", Unit: "core", Value: 1.5}, {Name: "cpu.own", Unit: "core", Value: 1.2}}})
		}
	}
	return rs
}

// used adds the share of a CPU that a thread used.
func used(r *record.Result, thread record.Key, share float64) {
	r.Values = append(r.Values, thread.Value("core", share))
}

// coresApart gives each trial the distances of the CPUs before and after it.
func coresApart(of func(block, i int) (before, after float64)) func([]record.Result) []record.Result {
	return func(rs []record.Result) []record.Result {
		for i := range rs {
			before, after := of(rs[i].Block, i%2)
			rs[i].Values = append(rs[i].Values, record.Value{Name: record.CoreToCore, Unit: "s", Value: before},
				record.Value{Name: record.CoreToCoreAfter, Unit: "s", Value: after})
		}
		return rs
	}
}

// Every rule finds its own problem and no other. A sound run has no findings.
func TestRules(t *testing.T) {
	vx := func(change func(r *record.Result)) func([]record.Result) []record.Result {
		return func(rs []record.Result) []record.Result {
			for i := range rs {
				if rs[i].Config["network"] == "vx" {
					change(&rs[i])
				}
			}
			return rs
		}
	}
	cases := []struct {
		rule, name string
		change     func([]record.Result) []record.Result
		want       string
		also       []string // other rules
		cell       string
		keep       bool
		unpaired   bool
	}{
		{rule: "", change: func(rs []record.Result) []record.Result { return rs }},
		{rule: "emulated", name: "guests", change: vx(func(r *record.Result) { r.Observed["vm.accelerator"] = "tcg" }), want: "12 of 24 trials ran in emulated guests"},
		{rule: "emulated", name: "machine", change: vx(func(r *record.Result) { r.Observed["guest"] = "linux 6.1, qemu-tcg" }), want: "12 of 24 trials ran in an emulated machine"},
		{rule: "cpus-moved", name: "two distances", change: coresApart(func(block, i int) (before, after float64) {
			if block == 3 && i == 0 {
				return 1e-7, 4e-7
			}
			return []float64{4e-7, 1e-7}[block%2], []float64{4e-7, 1e-7}[block%2]
		}), want: "the CPUs were near each other in 11 trials (a cache line took 100 ns from one to the other and back), far apart in 12 (400 ns), and moved during 1; ratios compare trials that began at the same distance, unless fewer than two thirds of their blocks remain; absolute values"},
		{rule: "", name: "one distance", change: coresApart(func(block, i int) (before, after float64) { return 1e-7, 1e-7 * (1 + 0.03*float64(block)) })},
		{rule: "distance", name: "netem", change: func(rs []record.Result) []record.Result {
			for i := range rs {
				rs[i].Observed["delay.by"] = "netem"
			}
			return rs
		}, want: "netem delayed the packets between hosts in 24 of 24 trials"},
		{rule: "distance", name: "program", change: func(rs []record.Result) []record.Result {
			for i := range rs {
				rs[i].Observed["delay.by"] = "nfqueue"
				rs[i].Values = append(rs[i].Values, record.Value{Name: "delay.late", Unit: "s", Value: float64(i) * 1e-6})
			}
			return rs
		}, want: "a program delayed the packets between hosts in 24 of 24 trials, because the kernel lacks netem; in the worst trial, 1 % of them left 23 µs late or more; for netem, load"},
		{rule: "unpaired", unpaired: true, change: func(rs []record.Result) []record.Result { return rs[:5] }, want: "imported results, unpaired"},
		{rule: "nothing-compared", name: "no trials", change: func([]record.Result) []record.Result { return nil }, want: "no trials"},
		{rule: "nothing-compared", name: "alone", change: func(rs []record.Result) []record.Result {
			return slices.DeleteFunc(rs, func(r record.Result) bool { return r.Config["network"] == "vx" })
		}, want: `"host" is the only network`},
		{rule: "nothing-compared", name: "absent", change: func(rs []record.Result) []record.Result {
			return slices.DeleteFunc(rs, func(r record.Result) bool { return r.Config["network"] == "host" })
		}, want: `no trial of the baseline "host"`},
		{rule: "too-few-blocks", change: func(rs []record.Result) []record.Result { return rs[:10] }, want: "the run has 5, and a ratio at 95 % needs at least 6"},
		{rule: "disturbed", change: vx(func(r *record.Result) { set(r, "others.user", 0.9) }), want: "disturbed: others used 0.5 core, and all trials count; for narrower intervals, stop other programs on the machine",
			cell: "vx, tcp-stream"},
		{rule: "disturbed", name: "kept", keep: true, change: vx(func(r *record.Result) { set(r, "others.user", 0.9) }), want: "disturbed 12 of 24 trials; they count"},
		{rule: "trials-not-ok", change: vx(func(r *record.Result) { r.Status, r.Reason = record.Failed, "exit status 1" }), want: "12 failed: exit status 1",
			cell: "vx, tcp-stream"},
		{rule: "link-limited", change: vx(func(r *record.Result) { r.Observed["ceiling"] = "5e8" }), want: "at the ceiling", cell: "vx, tcp-stream"},
		{rule: "cpu-modes", change: vx(func(r *record.Result) { set(r, "cpu.accounted", 0.87) }), want: "do not add up to the time of all CPUs", cell: "vx, tcp-stream"},
		{rule: "", name: "modes that add up but for ticks", change: vx(func(r *record.Result) { set(r, "cpu.accounted", 0.97+0.2*float64(r.Block%2-r.Block/2%2)) })},
		{rule: "cpu-accounting", name: "impossible", change: vx(func(r *record.Result) {
			set(r, record.CPUUsed, 1)
			set(r, "cpu.own", 1.1)
		}), want: "report 1.10 cores, all programs together 1.00", cell: "vx, tcp-stream"},
		{name: "a CPU that is more than full", change: vx(func(r *record.Result) { set(r, "cpu.softirq.busiest", 1.72) })},
		{name: "a CPU that is full in most blocks", change: vx(func(r *record.Result) { set(r, "cpu.softirq.busiest", 0.97-0.9*float64(min(1, r.Block%4/3))) })},
		{rule: "one-cpu", change: vx(func(r *record.Result) { set(r, "cpu.softirq.busiest", 0.97) }), want: "softirqs filled 97 % of one CPU", cell: "vx, tcp-stream"},
		{rule: "full-thread", change: vx(func(r *record.Result) {
			used(r, record.CPUThread.Thread("h2", "qemu-system-x86_64", "CPU_0/KVM"), 0.99)
		}),
			want: "vCPU 0 in h2 at 99 % of a CPU [99, 99]: that thread is the limit", cell: "vx, tcp-stream"},
		{rule: "full-thread", name: "two", change: vx(func(r *record.Result) {
			used(r, record.CPUThread.Thread("", "ksoftirqd", "1"), 0.96)
			used(r, record.CPUThread.Thread("h1", "vhost", ""), 0.97)
		}), want: "vhost in h1 at 97 % of a CPU [97, 97]; ksoftirqd/1 at 96 % of a CPU [96, 96]: these threads are the limit", cell: "vx, tcp-stream"},
		{rule: "", name: "a CPU load is not the limit", change: vx(func(r *record.Result) { used(r, record.CPUThread.Thread("h1", "weir-engine-hog", ""), 1) })},
		{rule: "", name: "an end that polls", change: vx(func(r *record.Result) {
			record.Wait.Put(r.Observed, record.Spinning)
			used(r, record.CPUThread.Thread("h1", "weir-engine-agent", ""), 1)
		})},
		{rule: "", name: "more than a thread can use", change: vx(func(r *record.Result) { used(r, record.CPUThread.Thread("h1", "iperf3", ""), 1.2) })},
		{rule: "mixed-metrics", change: func(rs []record.Result) []record.Result {
			rs[1].Values = nil
			return rs
		}, want: "1 of 12 ok trials have no throughput in bit/s", cell: "vx, tcp-stream"},
		{rule: "response-times", change: vx(func(r *record.Result) { r.Values[0].Hist = "HIST" }), want: "damaged histograms of response times: 12 (b001-vx, b002-vx, b003-vx, …)", cell: "vx, tcp-stream"},
		{rule: "trial-warnings", change: vx(func(r *record.Result) { r.Notes = []record.Note{record.NoteText.With("a stall")} }), want: "a stall (12 of 12 trials)", cell: "vx, tcp-stream"},
		{rule: "outlier-blocks", change: func(rs []record.Result) []record.Result {
			rs[9].Values[0].Value *= 0.3
			return rs
		}, want: "block 5 is far from the others, at 0.15×", cell: "vx, tcp-stream"},
		{rule: "residue", change: func(rs []record.Result) []record.Result {
			rs[3].Observed["cc"] = "reno"
			return rs
		}, want: "cc differs inside a cell without being a factor: it is (not found) (23 trials: host, vx; tcp-stream); reno (1 trial: vx, tcp-stream, block 2)"},
	}
	found := map[string]bool{}
	for _, c := range cases {
		t.Run(strings.TrimSuffix(c.rule+" "+c.name, " "), func(t *testing.T) {
			all := Check(analysis.New(c.change(sound(12)), analysis.Options{Baseline: "host", KeepDisturbed: c.keep, Unpaired: c.unpaired}))
			text := ""
			for _, f := range all {
				if f.Rule != c.rule && !slices.Contains(c.also, f.Rule) {
					t.Errorf("rule %s: %s", f.Rule, f)
				}
				if f.Rule == c.rule {
					found[c.rule] = true
					text += f.String() + "\n"
				}
			}
			if !strings.Contains(text, c.want) || c.rule == "" && len(all) > 0 {
				t.Errorf("%q, want %q", text, c.want)
			}
			if c.cell == "" && len(ByCell(all)) > 0 || c.cell != "" && len(ByCell(all)[c.cell]) == 0 {
				t.Errorf("findings by cell %v, want some of %q only", ByCell(all), c.cell)
			}
			if of := len(OfRun(all)) + len(ResidueOf(all)); c.cell == "" && of != len(all) {
				t.Errorf("%d of %d findings are about the run", of, len(all))
			}
		})
	}
	id := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := map[string]bool{}
	found[noFit.ID] = true      // of trials without a value: TestTooSmallForFailedTrials
	found[directions.ID] = true // TestOneDirection
	for _, c := range watchedCases {
		found[c.rule] = true
	}
	for _, r := range Rules() {
		if !id.MatchString(r.ID) || seen[r.ID] || r.Title == "" || r.Doc == "" || !found[r.ID] {
			t.Errorf("rule %q: it needs a unique ID, a title, a doc and a case here", r.ID)
		}
		seen[r.ID] = true
	}
}

// A long list is cut, and says so.
func TestFew(t *testing.T) {
	rs := sound(12)
	for i := range rs {
		for n := range 9 {
			rs[i].Notes = append(rs[i].Notes, record.NoteText.With(fmt.Sprint("warning ", n)))
		}
	}
	of := ByCell(Check(analysis.New(rs, analysis.Options{Baseline: "host"})))["host, tcp-stream"]
	if len(of) != 6 || of[5].Text.String() != "and 4 more warnings" {
		t.Errorf("%v", of)
	}
}

func set(r *record.Result, name record.Quantity, v float64) {
	for i := range r.Values {
		if r.Values[i].Name == name {
			r.Values[i].Value = v
		}
	}
}

// A disturbed chain is found like a row.
func TestDisturbedChain(t *testing.T) {
	run := analysis.Run{Chains: []analysis.Chain{{Probe: "ping", Network: "vx", Spans: []analysis.Span{{}, {Busy: &analysis.Disturbance{Blocks: 5, Of: 9}}}}}}
	if fs := disturbed.Check(&run); len(fs) != 1 || fs[0].Cells[0].String() != "vx, ping" || fs[0].Remedy == "" {
		t.Errorf("%+v", fs)
	}
}

// The programs that used most CPU time are named.
func TestDisturbersAreNamed(t *testing.T) {
	rs := sound(12)
	set(&rs[4], "others.user", 0.9)
	o := &analysis.Others{}
	o.Add(10, analysis.Program{PID: 7, Name: "make", CPU: 2}, analysis.Program{PID: 4242, Name: "firefox", CPU: 6.1}, analysis.Program{PID: 8, Name: "cc", CPU: 1}, analysis.Program{PID: 10, Name: "rest", CPU: 0.1})
	o.Add(10, analysis.Program{PID: 4242, Name: "firefox", CPU: 6.1}, analysis.Program{PID: 9, Name: "idle", CPU: 0.1})
	for _, keep := range []bool{false, true} {
		fs := disturbed.Check(analysis.New(rs, analysis.Options{Baseline: "host", Others: o, KeepDisturbed: keep}))
		want := "disturbed 1 of 24 trials; most CPU time went to firefox (pid 4242) 0.61 core, make (pid 7) 0.10 core, cc (pid 8) 0.05 core"
		if len(fs) != 1 || !strings.Contains(fs[0].Text.String(), want) || strings.Contains(fs[0].Text.String(), "count like the others") != keep {
			t.Errorf("%+v, want %q", fs, want)
		}
	}
	o = &analysis.Others{}
	o.AddOn("b", 10, analysis.Program{PID: 7, Name: "make", CPU: 20})
	o.AddOn("a", 20, analysis.Program{PID: 7, Name: "make", CPU: 10})
	fs := disturbed.Check(analysis.New(rs, analysis.Options{Baseline: "host", Others: o}))
	if want := "most CPU time went to make (pid 7 on b) 2.00 core, make (pid 7 on a) 0.50 core"; len(fs) != 1 || !strings.Contains(fs[0].Text.String(), want) {
		t.Errorf("%+v, want %q", fs, want)
	}
	hidden := &analysis.Others{}
	hidden.AddOn("node1", 10)
	if fs := disturbed.Check(analysis.New(rs, analysis.Options{Baseline: "host", Others: hidden})); len(fs) != 1 || !strings.Contains(fs[0].Text.String(), "went to programs that weir cannot see") {
		t.Errorf("%+v", fs)
	}
	if got := Took(analysis.Disturbance{Others: 0.8, CPUs: 4, Machines: []string{"a", "b", "c", "d", "e"}}).String(); got != "others used 0.8 of 4 cores on a, b, c and 2 more" {
		t.Errorf("%q", got)
	}
	if got := Took(analysis.Disturbance{Others: 0.1, CPUs: 4, Pairs: true, Machines: []string{"node3"}}).String(); got != "others used 0.1 of 4 cores on average over all pairs; disturbed: node3" {
		t.Errorf("%q", got)
	}
	if fs := disturbed.Check(analysis.New(sound(12), analysis.Options{Baseline: "host", Others: o})); fs != nil {
		t.Errorf("an undisturbed run: %+v", fs)
	}
}
