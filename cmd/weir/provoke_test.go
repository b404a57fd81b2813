package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

var provoke = flag.Int("provoke", 1, "how often TestFaults provokes each fault; four of five must be found")

// A batch is faults that one study measures together, in the same blocks.
type batch struct {
	name   string
	faults []fault
}

func batches(all []fault) (bs []batch) {
	for _, f := range all {
		name := f.Probe.Name
		switch {
		case f.OneCPU:
			name = "one CPU"
		case len(f.Levels) > 0:
			name = fmt.Sprint(f.Levels)
		case f.Network.Name == sound:
			name = "options"
		}
		i := slices.IndexFunc(bs, func(b batch) bool { return b.name == name })
		if i < 0 {
			i, bs = len(bs), append(bs, batch{name: name})
		}
		bs[i].faults = append(bs[i].faults, f)
	}
	return bs
}

// compared holds the levels to which a rule compares that of a fault.
var compared = map[string][]string{"bridge-nf": {"off"}}

// study measures the faults of b, and the sound network.
func (b batch) study(rates map[string]float64) study.Study {
	s := small(study.Use{Kind: sound, Name: sound})
	for _, f := range b.faults {
		if _, has := s.Network(f.Network.Name); !has {
			f.Network.Options = maps.Clone(f.Network.Options)
			for k, v := range f.Network.Options {
				f.Network.Options[k] = strings.ReplaceAll(v, `"$RATE"`, fmt.Sprintf("%.0fbit", f.Share*rates[f.Probe.Name]))
			}
			s.Networks = append(s.Networks, f.Network)
		}
		if _, has := s.Probe(f.Probe.Name); !has {
			s.Probes = append(s.Probes, f.Probe)
		}
		for factor, level := range f.Levels {
			s.Vary(factor, append(slices.Clone(compared[factor]), level))
			if compared[factor] != nil {
				s.Blocks = 16 // the difference between two levels is small
			}
		}
	}
	return s
}

// small returns a study of a few short trials.
func small(networks ...study.Use) study.Study {
	s := study.Default()
	s.Name, s.Networks = "small", networks
	s.Blocks, s.Warmup, s.Duration = 8, 20*time.Millisecond, 100*time.Millisecond
	s.Episodes, s.KeepDisturbed, s.Seed = 1, true, 1
	return s
}

// A diagnosis is what a report says: the rules behind its findings with a number, by cell.
type diagnosis map[string][]string

func cellOf(probe, network string, levels map[string]string) string {
	return fmt.Sprint(probe, " over ", network, " ", levels)
}

// cell names the cell that has the fault. It leaves out factors with one level.
func (f fault) cell() string {
	levels := maps.Clone(f.Levels)
	maps.DeleteFunc(levels, func(factor, _ string) bool { return compared[factor] == nil })
	return cellOf(f.Probe.Name, f.Network.Name, levels)
}

// noise names the rules whose findings describe the machine while it measured, not the network.
var noise = []string{"contention"}

// finds reports whether a fault's cell has a finding of the rule, or cannot beside contention: a sender that does
// not run fills no backlog, which the counters must show, sends late segments again, and on a machine that runs other
// tests, too, a cost cannot be told from noise.
func (m measured) finds(t *testing.T, f fault, rule string) bool {
	found := m.diagnosis()[f.cell()]
	return slices.Contains(found, rule) || slices.Contains(found, "contention") &&
		((rule == "bridge-nf" || rule == "spurious-retransmissions") && *provoke == 1 || rule == "backlog-drop" && !m.backlogFull(t, f))
}

// backlogFull reports whether CPUs dropped more than 0.1 % of the packets in most trials of a fault.
func (m measured) backlogFull(t *testing.T, f fault) bool {
	full, all := 0, m.trials(f)
	for _, trial := range all {
		b, err := os.ReadFile(filepath.Join(m.dir, "raw", trial, "evidence.json"))
		if err != nil {
			t.Fatal(err)
		}
		e, err := evidence.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		dropped, packets := 0.0, 0.0
		for _, c := range e.Hosts {
			dropped += c["softnet.dropped"]
		}
		for _, h := range e.Path {
			packets = max(packets, h.Data.Packets)
		}
		if dropped > 0.001*packets {
			full++
		}
	}
	return 2*full > len(all)
}

// trials names the trials of a fault's network and probe that count.
func (m measured) trials(f fault) (names []string) {
	for _, r := range m.results {
		if r.Status == record.OK && r.Config["network"] == f.Network.Name && r.Config["probe"] == f.Probe.Name {
			names = append(names, r.Trial)
		}
	}
	return names
}

// A measured is a run with its findings.
type measured struct {
	dir      string
	findings []finding.Finding
	results  []record.Result
}

// measure runs s as users do, and reads the report. With oneCPU all programs share a CPU.
func measure(t *testing.T, s study.Study, oneCPU bool) measured {
	t.Helper()
	dir := t.TempDir()
	src, err := s.Resolve().Encode()
	if err != nil {
		t.Fatal(err)
	}
	file, out := filepath.Join(dir, "study.yaml"), filepath.Join(dir, "out")
	if err := os.WriteFile(file, src, 0o666); err != nil {
		t.Fatal(err)
	}
	launch := func(args ...string) *process { return start(t, nil, args...) }
	run := launch
	if oneCPU {
		run = func(args ...string) (p *process) {
			onOneCPU(t, func() { p = launch(args...) })
			return p
		}
	}
	if p := run("run", file, "-o", out); p.statusWithin(t, slow) == 2 || p.ProcessState.ExitCode() > 3 {
		t.Fatalf("weir run: status %d\n%s\n%s", p.ProcessState.ExitCode(), src, &p.stderr)
	}
	p := launch("report", out, "--format", "json")
	if got := p.status(t); got != 0 {
		t.Fatalf("weir report: status %d\n%s", got, &p.stderr)
	}
	var doc struct{ Findings []finding.Finding }
	if err := json.Unmarshal(p.stdout.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, f := range doc.Findings {
		for _, c := range f.Cells {
			t.Logf("%s: %s: %s", cellOf(c.Probe, c.Network, c.Levels), f.Rule, f)
		}
	}
	c, err := store.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Results {
		if r.Status != record.OK {
			t.Logf("%s: %s: %s", r.Trial, r.Status, r.Reason)
		}
	}
	return measured{out, doc.Findings, c.Results}
}

func (m measured) diagnosis() diagnosis {
	found := diagnosis{}
	for _, f := range m.findings {
		for _, c := range f.Cells {
			if at := cellOf(c.Probe, c.Network, c.Levels); f.Number != nil && !slices.Contains(found[at], f.Rule) {
				found[at] = append(found[at], f.Rule)
			}
		}
	}
	return found
}

// onOneCPU calls f on a thread that may use one CPU only. So may the programs that f starts.
func onOneCPU(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		var own, one unix.CPUSet
		err := unix.SchedGetaffinity(0, &own)
		for cpu := 0; err == nil && one.Count() == 0; cpu++ {
			if own.IsSet(cpu) {
				one.Set(cpu)
			}
		}
		if err == nil {
			err = unix.SchedSetaffinity(0, &one)
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// rates returns the bits per second that each probe moves over the underlay of the sound network.
func rates(t *testing.T) map[string]float64 {
	t.Helper()
	const headers = 1.07 // of VXLAN, Ethernet and IP, at full packets
	s := small(study.Use{Kind: sound, Name: sound})
	s.Probes, s.Blocks = []study.Use{{Kind: "udp-stream"}, {Kind: "tcp-stream"}}, 5
	all := map[string][]float64{}
	for _, r := range measure(t, s, false).results {
		if v, ok := r.Get("throughput"); ok {
			all[r.Config["probe"]] = append(all[r.Config["probe"]], headers*v.Value)
		}
	}
	medians, part := map[string]float64{}, 1.0
	if *provoke == 1 { // a machine that runs other tests, too, may soon carry half of it
		part = 0.5
	}
	for probe, vs := range all {
		slices.Sort(vs)
		medians[probe] = part * vs[len(vs)/2]
	}
	return medians
}

// structural returns the rules of a cell that blame the network.
func (d diagnosis) structural(cell string, except ...string) []string {
	return slices.DeleteFunc(slices.Clone(d[cell]), func(rule string) bool {
		return slices.Contains(noise, rule) || slices.Contains(except, rule)
	})
}

// Each provoked fault is found, with what it causes and nothing else; a fault without effect is not.
// `make provoke` repeats all of them five times.
func TestFaults(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	if facts.Find("nft") == "" || facts.Find("tc") == "" {
		t.Skip("nft or tc is missing: install the packages nftables and iproute2")
	}
	all, fail := faults(t), judge(t)
	missed, wrong := map[string]int{}, map[string][]string{}
	once := func(all []fault) {
		capacity := rates(t)
		for _, b := range batches(all) {
			m := measure(t, b.study(capacity), b.faults[0].OneCPU)
			found := m.diagnosis()
			for _, f := range b.faults {
				at := f.cell()
				if n := len(m.trials(f)); n < analysis.LeastBlocks { // nothing is found in nothing
					missed[f.Name]++
					t.Logf("MISSED %s: only %d trials count", f.Name, n)
					continue
				}
				for _, rule := range f.Finds {
					if !m.finds(t, f, rule) {
						missed[f.Name]++
						t.Logf("MISSED %s: found %v, want %s", f.Name, found[at], rule)
						break
					}
				}
				if also := found.structural(at, append(f.Finds, f.Causes...)...); len(also) > 0 {
					wrong[f.Name] = append(wrong[f.Name], also...)
					t.Logf("WRONG %s: found %v besides %v and %v", f.Name, also, f.Finds, f.Causes)
				}
			}
		}
	}
	for range *provoke {
		once(all)
	}
	for again := 1; *provoke == 1 && again <= 2; again++ { // one miss proves nothing yet, nor do two beside other programs
		left := slices.DeleteFunc(slices.Clone(all), func(f fault) bool { return missed[f.Name] == 0 && wrong[f.Name] == nil })
		if len(left) == 0 {
			break
		}
		clear(missed)
		clear(wrong)
		once(left)
	}
	var bad []string
	for _, f := range all {
		if n := missed[f.Name]; n > *provoke/5 {
			bad = append(bad, fmt.Sprintf("%s: missed %d times in %d", f.Name, n, *provoke))
		}
		if n := len(wrong[f.Name]); n > *provoke/5 {
			bad = append(bad, fmt.Sprintf("%s: found something else, too, %d times in %d: %v", f.Name, n, *provoke, wrong[f.Name]))
		}
	}
	if bad != nil {
		fail("%s", strings.Join(bad, "; "))
	}
}

// judge returns what a test calls when it judges a fault wrongly. `make provoke` is run on a quiet machine: nothing excuses it.
func judge(t *testing.T) (fail func(string, ...any)) {
	if *provoke > 1 {
		return t.Fatalf
	}
	return nstest.Judge(t)
}
