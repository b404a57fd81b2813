package analysis_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// measures maps the probes of the recorded runs to the quantity they measure.
var measures = map[string]string{
	"tcp-stream": "tcp", "iperf3-tcp": "tcp", "iperf2-tcp": "tcp",
	"udp-rr": "rr", "sockperf-udp-rr": "rr", "ping": "ping", "fping": "ping",
}

// TestRecordedRuns checks every number of real, recorded runs: an analysis that changes one changes
// the result of a stored run. Words can change. Use -update only to add runs.
func TestRecordedRuns(t *testing.T) {
	files, err := filepath.Glob("testdata/runs/*.jsonl.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded runs: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".jsonl.gz")
		t.Run(filepath.Base(name), func(t *testing.T) {
			if testing.Short() && filepath.Base(name) == "multihop" {
				t.Skip("slow: run without -short")
			}
			t.Parallel()
			compareNumbers(t, name+".golden.gz", numbersOf(t, recorded(t, file), studyOf(t, name+".yaml")))
		})
	}
}

// compareNumbers compares lines of words and numbers. The last bit can differ between processors,
// because some multiply and add in one step.
func compareNumbers(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		_, _ = z.Write(got)
		_ = z.Close()
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := strings.Split(string(unzip(t, golden)), "\n")
	lines := strings.Split(string(got), "\n")
	bad := 0
	for i := range max(len(want), len(lines)) {
		var w, g string
		if i < len(want) {
			w = want[i]
		}
		if i < len(lines) {
			g = lines[i]
		}
		if !sameNumbers(w, g) {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, g, w)
			if bad++; bad == 10 {
				t.Fatal("and perhaps more")
			}
		}
	}
}

func sameNumbers(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	return slices.EqualFunc(x, y, func(a, b string) bool {
		v, err := strconv.ParseFloat(a, 64)
		w, err2 := strconv.ParseFloat(b, 64)
		return a == b || err == nil && err2 == nil && math.Abs(v-w) <= 1e-9*math.Abs(v)
	})
}

func unzip(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := bufio.NewReader(z).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func recorded(t testing.TB, file string) (rs []record.Result) {
	t.Helper()
	for r, err := range record.All(bytes.NewReader(unzip(t, file)), file) {
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, *r)
	}
	return rs
}

func studyOf(t testing.TB, file string) study.Study {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := study.Load(b, file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// manyBlocks repeats and scales a run, for intervals, outliers and correlation.
func manyBlocks(rs []record.Result, n int) []record.Result {
	last, first, end := 0, rs[0].Start, rs[0].Start
	for _, r := range rs {
		last = max(last, r.Block)
		if r.Start.After(end) {
			end = r.Start
		}
	}
	out := make([]record.Result, 0, n*len(rs))
	random := uint32(1)
	for i := range n {
		for _, r := range rs {
			r.Trial = fmt.Sprintf("r%03d-%s", i, r.Trial)
			r.Block += i * last
			r.Start = r.Start.Add(time.Duration(i) * (end.Sub(first) + time.Minute))
			r.Values = slices.Clone(r.Values)
			for j := range r.Values {
				random = random*1664525 + 1013904223
				if i > 0 {
					r.Values[j].Value *= 1 + float64(random>>8)/(1<<24)/10
				}
			}
			out = append(out, r)
		}
	}
	return out
}

// numbersOf prints every number that a report can show: of the run as recorded, with disturbed
// trials counted, and repeated until everything has an interval.
func numbersOf(t *testing.T, rs []record.Result, s study.Study) []byte {
	var networks, probes []string
	for _, u := range s.Networks {
		networks = append(networks, u.Name)
	}
	for _, u := range s.Probes {
		probes = append(probes, u.Name)
	}
	w := &lines{}
	for _, v := range []struct {
		name string
		rs   []record.Result
		keep bool
	}{{"stored", rs, s.KeepDisturbed}, {"kept", rs, true}, {"many", manyBlocks(rs, 24), false}} {
		o := analysis.Options{Baseline: s.Baseline, Networks: networks, Probes: probes, KeepDisturbed: v.keep}
		w.path = v.name
		run := analysis.New(v.rs, o)
		w.run(run)
		w.compare(v.rs, o)
		w.claims(t, s, run)
	}
	return w.b.Bytes()
}

type lines struct {
	b    bytes.Buffer
	path string
}

// put prints a line of words and numbers, with ten digits.
func (w *lines) put(args ...any) {
	w.b.WriteString(w.path)
	for _, a := range args {
		switch x := a.(type) {
		case float64:
			fmt.Fprintf(&w.b, " %.10g", x)
		case stat.Interval:
			fmt.Fprintf(&w.b, " %.10g %.10g %.10g %.10g %d %d", x.Center, x.Lo, x.Hi, x.Confidence, x.N, len(x.Warnings))
		case map[string]string:
			for _, k := range slices.Sorted(maps.Keys(x)) {
				fmt.Fprintf(&w.b, " %s=%s", k, x[k])
			}
		default:
			fmt.Fprintf(&w.b, " %v", x)
		}
	}
	w.b.WriteByte('\n')
}

func (w *lines) run(p *analysis.Run) {
	w.put("run", p.Baseline, p.Confidence, p.Comparisons, p.Each, p.Blocks, p.Pairs, p.Networks)
	w.contrasts(p)
	for _, t := range p.Tables {
		w.put("table", t.Probe, t.Config, "|", t.Levels, "|", t.Metric, t.Unit)
		for _, r := range t.Rows {
			w.row(r)
		}
	}
	for _, c := range p.Chains {
		w.put("chain", c.Probe, c.Network, c.Levels, c.Metric, c.Unit, c.Adds, c.Mean)
		for _, s := range c.Spans {
			w.put("span", s.Segments, s.Hosts, s.Value, s.Parts, s.Ratio, s.Same, s.Busy != nil)
		}
	}
	for _, d := range p.Residue {
		w.put("residue", d.Key, d.Scope)
		for _, s := range d.Values {
			w.put("seen", s.Value, s.Trials)
		}
	}
	for _, g := range p.Gaps() {
		w.put("gap", g.Network, g.Levels, g.Datagram, g.Segment, g.Total, g.Product, g.Intervals, g.Each, g.Blocks, g.Busy != nil)
		for _, x := range g.Modes {
			w.put("way", x.Kind, x.Rate, x.Time, x.Size, x.Together, x.Step)
		}
		for _, c := range g.Checks {
			w.put("check", c.Name, c.Ratio)
		}
		for _, e := range g.Extra {
			w.put("extra", e.Kind, e.Time, e.Together, e.CPU, e.PerPass())
		}
	}
	for _, s := range p.Sweeps(3) {
		w.put("sweep", s.Probe, s.Factor, s.Levels, s.X, len(s.Tables))
	}
	for _, m := range p.Matrices() {
		w.put("matrix", m.Probe, m.Levels, m.From, m.To)
	}
	for _, a := range p.Agreements(measures) {
		w.put("agreement", a.Measures, a.Levels, a.Datagram, a.Unit, len(a.Tables))
		for _, c := range slices.Concat(a.Values, a.Ratios) {
			for _, x := range c.Clusters {
				w.put("cluster", c.Network, x.Lo, x.Hi, x.Probes)
			}
		}
	}
}

func (w *lines) row(r analysis.Row) {
	sum := 0.0
	for _, p := range r.Points {
		if p.Has {
			sum += p.Value
		}
	}
	w.put("row", r.Network, r.Baseline, r.Value, r.Ratio, r.Detectable, r.Same, r.Path, r.Busy != nil,
		r.OK, r.Invalid, r.Failed, r.Skipped, r.Disturbed, len(r.Points), sum, len(r.Observed), r.Wire.Ceiling)
	for _, s := range r.Values {
		if w.path == "stored" {
			w.put(s.Key, s.Unit, s.Median, s.Mean, s.N)
		}
	}
	for _, p := range []float64{0.5, 0.9, 0.99, 0.999, 0.9999} {
		if v, ok := r.Percentile(p); ok {
			w.put("percentile", p, v)
		}
	}
	if loss, ok := r.Loss(); ok {
		w.put("loss", loss)
	}
	if c, ok := r.Cost(); ok {
		w.put("cost", c.Name, c.Unit, c.Total)
		for _, m := range c.Modes {
			w.put("mode", m.Name, m.Share)
		}
	}
	if s, ok := r.Split(); ok {
		w.put("split", s.Path, s.Wake, s.App)
	}
	hosts, medians := r.Hosts()
	for _, from := range hosts {
		for _, to := range hosts {
			if v, ok := medians[[2]string{from, to}]; ok {
				w.put("hosts", from, to, v)
			}
		}
	}
}

// compare splits a run into four, and compares two with two.
func (w *lines) compare(rs []record.Result, o analysis.Options) {
	var part [4][]record.Result
	for _, r := range rs {
		part[r.Block%4] = append(part[r.Block%4], r)
	}
	runs := func(a, b int) []*analysis.Run {
		return []*analysis.Run{analysis.New(part[a], o), analysis.New(part[b], o)}
	}
	c := analysis.Compare(runs(1, 3), runs(0, 2), 0.05)
	w.put("compare", c.Confidence, c.Each, c.Bound, len(c.OnlyA), len(c.OnlyB), len(c.Uncompared), c.Worse())
	for _, x := range slices.Concat(c.Changes, c.Absolute) {
		w.put("change", x.Cell, x.Metric, x.Unit, x.A.Interval, x.B.Interval, x.Ratio.Interval, x.Same, x.Worse, x.Better)
	}
}

func (w *lines) claims(t *testing.T, s study.Study, run *analysis.Run) {
	shipped, err := claim.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range claim.Judge(shipped, s, run) {
		w.put("claim", o.Claim.ID, o.Verdict)
		for _, m := range o.Measured {
			w.put("test", m.Ratio, m.Verdict, m.More)
		}
	}
}
