package history

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/record"
)

var machine = Machine{CPU: "Example 3 GHz", CPUs: 2, Kernel: "6.12.9"}

func entry(run int, network string, log float64) Entry {
	return Entry{Format: format, Run: fmt.Sprintf("run %d", run), Time: time.Unix(int64(1e9+run), 0).UTC(), ID: machine.ID(), Machine: machine,
		Cell: Cell{Probe: "tcp-stream", Network: network, Baseline: "host", Levels: map[string]string{"mtu": "1500"}, Metric: "throughput"},
		Log:  log, SE: 0.01, DF: 9}
}

func TestSpreads(t *testing.T) {
	var es []Entry
	for i, log := range []float64{-0.50, -0.40, -0.45, -0.55} {
		es = append(es, entry(i, "vxlan-overlay", log))
	}
	es = append(es, entry(0, "bridge", -0.1), entry(1, "bridge", -0.1)) // two runs only
	other := entry(9, "vxlan-overlay", 3)
	other.ID = Machine{CPUs: 64}.ID()
	again := entry(0, "vxlan-overlay", -0.50) // a run reported twice is one run
	es = append(es, other, again)
	key := es[0].Key()

	all := Spreads(es, machine.ID(), "")
	// The standard deviation of the four logarithms is 0.0645; their own errors of 0.01 are part of it.
	if s := all[key]; len(all) != 1 || s.Runs != 4 || math.Abs(s.Tau-math.Sqrt(0.0645*0.0645-0.0001)) > 0.001 {
		t.Errorf("%+v", all)
	}
	if s := Spreads(es, machine.ID(), "run 1")[key]; s.Runs != 3 || s.Tau >= all[key].Tau {
		t.Errorf("without one run: %+v", s)
	}
	if s := Spreads(es[:3], machine.ID(), "run 1"); len(s) != 0 {
		t.Errorf("two runs show a spread: %+v", s)
	}
	if s := Spreads(es, "another", ""); len(s) != 0 {
		t.Errorf("another machine: %+v", s)
	}
}

func TestMachinesAndCellsDiffer(t *testing.T) {
	ids := map[string]bool{}
	for _, m := range []Machine{machine, {CPU: "Example 3 GHz", CPUs: 4, Kernel: "6.12.9"}, {CPU: "Example 3 GHz", CPUs: 2, Kernel: "6.12.10"},
		{CPU: "Other", CPUs: 2, Kernel: "6.12.9"}, {CPU: "Example 3 GHz", CPUs: 2, Kernel: "6.12.9", Guest: "qemu-kvm"}} {
		ids[m.ID()] = true
	}
	if len(ids) != 5 {
		t.Errorf("%d different machines of 5", len(ids))
	}
	a, b := entry(0, "bridge", 0).Cell, entry(0, "bridge", 0).Cell
	b.Setup = Digest("vni: 7")
	if a.Key() == b.Key() || a.Key() != entry(5, "bridge", 1).Key() {
		t.Errorf("%s, %s", a.Key(), b.Key())
	}
}

func TestEntries(t *testing.T) {
	var rs []record.Result
	for b := 1; b <= 8; b++ {
		for network, v := range map[string]float64{"host": 1e9, "bridge": 8e8 + 1e6*float64(b%3)} {
			rs = append(rs, record.Result{Trial: fmt.Sprint(network, b), Block: b, Status: record.OK, Config: map[string]string{"network": network, "probe": "tcp-stream"},
				Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: v}}})
		}
	}
	es := Entries(Run{ID: "r", Machine: machine}, analysis.New(rs, analysis.Options{Baseline: "host"}),
		func(t *analysis.Table, r *analysis.Row) Cell { return Cell{Probe: t.Probe, Network: r.Network} }, nil)
	if len(es) != 1 || es[0].Network != "bridge" || math.Abs(es[0].Log-math.Log(0.801)) > 0.002 || es[0].SE <= 0 || es[0].check() != nil {
		t.Errorf("%+v", es)
	}
}

// Ratios of contrasts are remembered like those of networks.
func TestEntriesOfContrasts(t *testing.T) {
	var rs []record.Result
	for b := 1; b <= 8; b++ {
		for load, v := range map[string]float64{"idle": 1e-5, "busy": 2e-5 + 1e-8*float64(b%3), "full": 0} {
			rs = append(rs, record.Result{Trial: fmt.Sprint(load, b), Block: b, Status: record.OK, Config: map[string]string{"network": "host", "probe": "udp-rr", "load": load},
				Values: []record.Value{{Name: "rtt", Unit: "s", Value: v}}})
		}
	}
	a := analysis.New(rs, analysis.Options{Contrasts: []analysis.Contrast{{To: map[string]string{"load": "idle"}}}})
	es := Entries(Run{ID: "r", Machine: machine}, a, nil, func(c analysis.Contrast, row analysis.ContrastRow) Cell {
		return Cell{Probe: row.Probe, Network: row.Network, Baseline: c.Name(row.Of), Metric: string(row.Metric)}
	})
	if len(es) != 1 || es[0].Baseline != "load busy ÷ idle" || math.Abs(es[0].Log-math.Log(2)) > 0.002 || es[0].SE <= 0 || es[0].check() != nil {
		t.Errorf("%+v", es)
	}
}

func TestAppendAndRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "weir", "spread.jsonl")
	if es, bad, err := Read(file); es != nil || bad != 0 || err != nil {
		t.Fatalf("a missing file: %v, %d, %v", es, bad, err)
	}
	if err := Append(file, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("nothing to remember made a file")
	}
	if err := Append(file, []Entry{entry(1, "bridge", -0.1), entry(1, "vxlan-overlay", -0.5)}); err != nil {
		t.Fatal(err)
	}
	// A killed writer leaves half a line, which costs only itself.
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString(`{"format":1,"run":"kil`)
	_ = f.Close()
	if err := Append(file, []Entry{entry(2, "bridge", -0.2)}); err != nil {
		t.Fatal(err)
	}
	es, bad, err := Read(file)
	if err != nil || len(es) != 3 || bad != 1 || es[2].Run != "run 2" || es[2].Log != -0.2 || es[0].Levels["mtu"] != "1500" {
		t.Errorf("%d bad, %v: %+v", bad, err, es)
	}
	nan := entry(3, "bridge", math.NaN())
	if err := Append(file, []Entry{nan}); err == nil {
		t.Error("remembered NaN")
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// filled returns a file that a few more entries make too large.
func filled(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "spread.jsonl")
	if err := Append(file, []Entry{entry(0, "bridge", 0)}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	es := slices.Repeat([]Entry{entry(1, "bridge", 0)}, int(maxBytes/info.Size())-10)
	if err := Append(file, es); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestOldRunsAreForgotten(t *testing.T) {
	file := filled(t)
	if es, bad, err := Read(file); err != nil || bad != 0 || es[0].Run != "run 0" {
		t.Errorf("forgot too early: the first of %d is %s, %d bad, %v", len(es), es[0].Run, bad, err)
	}
	if err := Append(file, slices.Repeat([]Entry{entry(2, "bridge", 0)}, 20)); err != nil {
		t.Fatal(err)
	}
	es, bad, err := Read(file)
	if err != nil || bad != 0 || es[0].Run != "run 1" || es[len(es)-20].Run != "run 2" {
		t.Errorf("%d entries, the first of %s, %d bad, %v", len(es), es[0].Run, bad, err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() > maxBytes/2 || info.Mode().Perm() != 0o600 {
		t.Errorf("%d bytes, mode %v, %v", info.Size(), info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); left != nil {
		t.Errorf("left %v", left)
	}
}

// Even in a file that something else has filled, the newest lines count, and the file shrinks again.
func TestOversizedFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spread.jsonl")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, maxBytes+1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := Append(file, []Entry{entry(1, "bridge", 0)}); err != nil {
		t.Fatal(err)
	}
	es, bad, err := Read(file)
	if info, _ := os.Stat(file); len(es) != 1 || bad != 0 || err != nil || info.Size() > maxLine {
		t.Errorf("%d entries, %d bad, %v; %d bytes", len(es), bad, err, info.Size())
	}
}

// Writers at the same time lose nothing, also while the file is shortened.
func TestConcurrentWriters(t *testing.T) {
	file := filled(t)
	const writers = 8
	var wg sync.WaitGroup
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 5 {
				if err := Append(file, []Entry{entry(1000+10*w+i, "bridge", 0)}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	es, bad, err := Read(file)
	young := map[string]bool{}
	for _, e := range es {
		if e.Time.Unix() >= 1e9+1000 {
			young[e.Run] = true
		}
	}
	if err != nil || bad != 0 || es[0].Run != "run 1" || len(young) != 5*writers {
		t.Errorf("%d entries, the first of %s, %d new runs, %d bad, %v", len(es), es[0].Run, len(young), bad, err)
	}
}

func TestFile(t *testing.T) {
	for _, c := range []struct{ state, home, want string }{
		{"/state", "/home", "/state/weir/spread.jsonl"},
		{"", "/home", "/home/.local/state/weir/spread.jsonl"},
		{"relative", "/home", "/home/.local/state/weir/spread.jsonl"},
		{"", "", ""},
	} {
		t.Setenv("XDG_STATE_HOME", c.state)
		t.Setenv("HOME", c.home)
		got, err := File()
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

func TestUnwritable(t *testing.T) {
	if err := Append("/proc/weir/spread.jsonl", []Entry{entry(1, "bridge", 0)}); err == nil || !strings.Contains(err.Error(), "cannot remember the run") {
		t.Errorf("%v", err)
	}
	if _, _, err := Read(t.TempDir()); err == nil {
		t.Error("read a directory")
	}
}

func FuzzParse(f *testing.F) {
	var b strings.Builder
	for i := range 3 {
		line := filepath.Join(f.TempDir(), fmt.Sprint(i))
		if err := Append(line, []Entry{entry(i, "bridge", -0.1)}); err != nil {
			f.Fatal(err)
		}
		text, _ := os.ReadFile(line)
		b.Write(text)
	}
	f.Add([]byte(b.String()))
	for _, s := range []string{"", "\n\n", "{", "null\n", "[]\n", `{"format":2}` + "\n", `{"format":1,"log":1e999}`, `{"format":1,"run":"r","machine":"m","probe":"p","network":"n","log":101}`,
		`{"format":1,"run":"r","machine":"m","probe":"p","network":"n","se":-1}`, `{"format":1,"run":"r","machine":"m","probe":"p","network":"n","time":"never"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		es, bad := Parse(b)
		if lines := strings.Count(string(b), "\n") + 1; len(es)+bad > lines {
			t.Errorf("%d entries and %d bad lines of %d", len(es), bad, lines)
		}
		for _, e := range es {
			if err := e.check(); err != nil {
				t.Error(err)
			}
		}
		for k, s := range Spreads(es, "m", "") {
			if k == "" || !(s.Tau >= 0) || s.Runs < analysis.MinSpread {
				t.Errorf("%q: %+v", k, s)
			}
		}
	})
}
