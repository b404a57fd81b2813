package figure

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/analysis/timeline"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/lang/langtest"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func shipped(t *testing.T) []Figure {
	t.Helper()
	all, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func byID(t *testing.T, id string) Figure {
	t.Helper()
	all := shipped(t)
	i := slices.IndexFunc(all, func(f Figure) bool { return f.ID == id })
	if i < 0 {
		t.Fatalf("no figure %s", id)
	}
	return all[i]
}

// No figure of the thesis is left out, and each document has rows.
func TestShipped(t *testing.T) {
	n, ids := map[string]int{}, map[string]bool{}
	for _, f := range shipped(t) {
		n[f.Document]++
		ids[f.ID] = true
	}
	for i := range 16 {
		if id := fmt.Sprintf("thesis-%d", i+1); !ids[id] {
			t.Errorf("no figure %s", id)
		}
	}
	for _, d := range documents {
		if n[d] < 5 {
			t.Errorf("%s has %d figures", d, n[d])
		}
	}
}

func TestMistakes(t *testing.T) {
	const head = "source: Somebody\nstudies:\n  s: {networks: [host, bridge], probes: [tcp-stream], factors: {size: [1, 2]}}\nfigures:\n"
	const start = "- {id: a-1, place: figure 1, section: 2, caption: C, question: Q, numbers: N, study: s, chart: "
	for src, want := range map[string]string{
		start + "bars, rows: network, bars: size, to: {network: host}}":                                                   "",
		start + "pie, rows: network}":                                                                                     `unknown chart "pie"`,
		start + "bars, rows: network, x: size}":                                                                           "x is the horizontal axis of chart curve",
		start + "bars, rows: mtu}":                                                                                        `"mtu" cannot lay the figure out`,
		start + "bars, rows: network, panels: network}":                                                                   `"network" cannot lay the figure out`,
		start + "bars, bars: network}":                                                                                    "rows is missing",
		start + "bars, rows: network, networks: [ovs]}":                                                                   `study s has no network "ovs"`,
		start + "bars, rows: network, probes: [ping]}":                                                                    `study s has no probe "ping"`,
		start + "bars, rows: network, factors: {size: [3]}}":                                                              `study s has no level "3" of a factor "size"`,
		start + "bars, rows: network, to: {network: ovs}}":                                                                `to: the figure has no level "ovs"`,
		start + "bars, rows: network, published: [{at: {network: host}, ratio: 2}]}":                                      "a ratio needs to",
		start + "bars, rows: network, published: [{at: {network: host}, ratio: 2, value: 1 ms}]}":                         "want either value or ratio",
		start + "bars, rows: network, published: [{at: {network: host}}]}":                                                "want either value or ratio",
		start + "bars, rows: network, published: [{value: 1 ms}]}":                                                        "at is missing",
		start + "bars, rows: network, published: [{at: {network: [host, ovs]}, value: 1 ms}]}":                            `no level "ovs"`,
		start + "bars, rows: network, published: [{at: {network: host}, value: 1 furlong}]}":                              `invalid value "1 furlong"`,
		start + "bars, rows: network, published: [{at: {network: host}, value: -1 ms}]}":                                  `invalid value "-1 ms"`,
		"- {id: a-1, place: p, section: 2, caption: C, numbers: N, chart: none}":                                          "neither a study, nor instead, nor cannot",
		"- {id: a-1, place: p, section: 2, caption: C, numbers: N, chart: bars, cannot: W}":                               `chart "bars" of a figure without a study`,
		"- {id: A, place: p, section: 2, caption: C, numbers: N, chart: none, cannot: W}":                                 `invalid id "A"`,
		"- {id: a, section: 2, caption: C, numbers: N, chart: none, cannot: W}":                                           "place is missing",
		"- {id: a, place: p, section: 2, caption: C, numbers: N, study: nowhere, chart: none}":                            `unknown study "nowhere"`,
		start + "over, published: [{at: {network: host}, seconds: [1 Mbit/s, 2 Mbit/s]}]}":                                "",
		start + "curve, rows: network, x: size, published: [{at: {network: host}, seconds: [1 Mbit/s]}]}":                 "want either value or ratio",
		start + "bars, rows: network, bars: size, to: {network: host}, published: [{at: {network: bridge}, ratio: 50%}]}": "invalid ratio",
	} {
		_, err := Load([]byte(head+src), "figures/a.yaml", func(string) (study.Study, error) { return study.Study{}, os.ErrNotExist })
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", src, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %v, want %s", src, err, want)
		}
	}
}

func TestQuantity(t *testing.T) {
	for s, want := range map[string]Quantity{
		"934 Mbit/s": {Value: 934e6, Unit: "bit/s"}, "0.112 ms": {Value: 112e-6, Unit: "s"}, "6 Gbit/s": {Value: 6e9, Unit: "bit/s"}, "2 %": {Value: 0.02, Unit: "1"},
	} {
		var q Quantity
		if err := q.UnmarshalText([]byte(s)); err != nil || math.Abs(q.Value/want.Value-1) > 1e-12 || q.Unit != want.Unit || q.Text != s {
			t.Errorf("%s: %+v, %v", s, q, err)
		}
	}
}

// results are trials of two networks at two sizes: bridge is half of host, and size 2 twice size 1.
func results() (rs []record.Result) {
	for block := 1; block <= 9; block++ {
		for network, v := range map[string]float64{"host": 8e9, "bridge": 4e9} {
			for size, by := range map[string]float64{"1": 1, "2": 2} {
				rs = append(rs, record.Result{Trial: fmt.Sprint(block, network, size), Block: block, Status: record.OK,
					Config: map[string]string{"network": network, "probe": "tcp-stream", "size": size},
					Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: v * by * (1 + float64(block%3)/100)}}})
			}
		}
	}
	return rs
}

// A published number stands at its ratio times weir's own value of the cell that divides.
func TestMarks(t *testing.T) {
	const src = `source: Somebody
studies:
  s: {networks: [host, bridge], probes: [tcp-stream], factors: {size: [1, 2]}}
figures:
- {id: a-1, place: figure 1, section: 2, caption: C, question: Q, numbers: N, study: s, chart: bars, rows: network, bars: size, to: {network: host, size: 1}, published: [
  {at: {network: bridge, size: 1}, ratio: 0.7},
  {at: {network: bridge, size: 2}, to: {size: 1}, ratio: 3},
  {at: {network: host, size: 1}, value: 100 Mbit/s},
  {at: {network: host, size: 2}, value: 150 Mbit/s}]}
`
	fs, err := Load([]byte(src), "figures/a.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := fs[0].Of(analysis.New(results(), analysis.Options{Baseline: "host"}))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Mark{ // ratio, and value on this machine (medians are 1 % above the rates)
		"bridge, size 1": {Ratio: 0.7, Value: 0.7 * 8.08e9}, "bridge, size 2": {Ratio: 3 * 0.5, Value: 3 * 4.04e9},
		"host, size 1": {Value: 1e8}, "host, size 2": {Ratio: 1.5, Value: 1.5e8},
	}
	for _, p := range r.Points {
		w := want[r.Name(p.Levels)]
		if len(p.Marks) != 1 || !near(p.Marks[0].Ratio, w.Ratio) || !near(p.Marks[0].Value, w.Value) {
			t.Errorf("%s: %+v, want %+v", r.Name(p.Levels), p.Marks, w)
		}
	}
	var got []string
	for _, c := range r.Comparisons {
		got = append(got, fmt.Sprintf("%s ÷ %s: %.2f, here %.2f", c.Of, c.To, c.Published, c.Here.Center))
	}
	slices.Sort(got)
	if want := []string{"bridge, size 1 ÷ host, size 1: 0.70, here 0.50", "bridge, size 2 ÷ bridge, size 1: 3.00, here 2.00", "host, size 2 ÷ host, size 1: 1.50, here 2.00"}; !slices.Equal(got, want) {
		t.Errorf("comparisons %q, want %q", got, want)
	}
	if p := r.Points[0]; !near(p.Spread.Mean, 8.08e9) || p.Spread.SD < 6e7 || p.Spread.SD > 8e7 {
		t.Errorf("mean and deviation: %+v", p.Spread)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-3*math.Abs(b) }

// A network without values is left out with the reason.
func TestMissing(t *testing.T) {
	f := byID(t, "thesis-14")
	f.Study = needOf(t, "offload")
	const reason = "step 13 of 25, in h1: service d: needs the module openvswitch, which this kernel lacks; take another one, or leave it out"
	var rs []record.Result
	for _, r := range recorded(t, "offload") {
		if r.Config["network"] != "host" {
			r.Status, r.Reason, r.Values = record.Skipped, reason+"; last log lines of d: up", nil
		}
		rs = append(rs, r)
	}
	got, err := f.Of(analysis.New(rs, analysis.Options{Baseline: "host"}))
	if err != nil || !slices.Equal(got.Missing, []string{"vxlan-overlay: skipped: " + reason}) {
		t.Errorf("missing: %q, %v", got.Missing, err)
	}
	if p, err := got.Picture(Look{}); err != nil || !slices.ContainsFunc(p.Notes, func(s string) bool { return strings.HasSuffix(lang.Text(s).String(), reason) }) {
		t.Errorf("picture: %v, notes %q", err, p.Notes)
	}
	if _, err := f.Of(analysis.New(recorded(t, "star"), analysis.Options{})); err == nil {
		t.Error("results of another study fit")
	}
}

// Pictures of each kind, from recorded runs.
func TestPictures(t *testing.T) {
	for _, c := range []struct {
		id, run string
		look    Look
	}{
		{"thesis-14", "offload", Look{}}, {"thesis-14", "offload", Look{SD: true, Absolute: true}},
		{"thesis-3.3", "quick", Look{}}, {"thesis-12", "fragmentation", Look{}}, {"thesis-13", "offload", Look{}},
		{"thesis-star", "star", Look{}}, {"thesis-16", "multihop", Look{}}, {"thesis-16", "multihop", Look{Absolute: true}},
		{"terway-same-zone-ping", "direction", Look{}}, {"thesis-question-1", "gap", Look{}},
	} {
		f := byID(t, c.id)
		f.Study = needOf(t, c.run)
		if f.Study.Factors[f.Panels] == nil && f.Panels == "link" { // younger than the run
			f.Panels = ""
		}
		run := analysis.New(recorded(t, c.run), analysis.Options{Baseline: f.Study.Baseline})
		r, err := f.Of(run)
		if err != nil {
			t.Fatal(err)
		}
		name := c.id
		if c.look.Absolute {
			name += "-absolute"
		}
		golden(t, name, r, c.look)
	}
}

// Charts over time and of threads have no recorded run.
func TestPanes(t *testing.T) {
	over := Result{Figure: byID(t, "ovs-native-throughput")}
	o := timeline.Timeline{CPUs: 2, Window: 10, Used: &timeline.Course{}, Throughput: &timeline.Course{}}
	for i := range 50 {
		o.Times = append(o.Times, 0.1+0.2*float64(i))
		o.Used.Median = append(o.Used.Median, 1.5+0.1*math.Sin(float64(i)))
		o.Throughput.Median = append(o.Throughput.Median, 950e6+1e7*math.Cos(float64(i)))
	}
	for _, ends := range []string{"host1-host2", "host2-host1"} {
		over.Panes = append(over.Panes, Pane{Network: "host", Probe: "iperf3-tcp", Levels: map[string]string{"ends": ends}, Inside: &o})
	}
	golden(t, "over", over, Look{})

	threads := Result{Figure: byID(t, "kvm-threads")}
	threads.Panes = []Pane{{Network: "vm-vxlan", Probe: "udp-rate", Threads: []Thread{
		{"vhost", analysis.Thread{Place: "h1", Program: "vhost", Share: stat.Interval{N: 9, Center: 0.99, Lo: 0.97, Hi: 1, Confidence: 0.95}, Full: true}},
		{"ksoftirqd/0", analysis.Thread{Program: "ksoftirqd", Thread: "0", Share: stat.Interval{N: 9, Center: 0.2}}},
		{"kworker", analysis.Thread{Program: "kworker", Share: stat.Interval{N: 9, Center: 0.001}}},
	}}}
	golden(t, "threads", threads, Look{})
}

func golden(t *testing.T, name string, r Result, look Look) {
	t.Helper()
	got, err := r.SVG(look, nil)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for d := xml.NewDecoder(strings.NewReader(got)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
			break
		}
	}
	chinese(t, name, r, look)
	file := filepath.Join("testdata", name+".svg")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got {
		t.Errorf("%s differs from %s (%v); run with -update and look at it", name, file, err)
	}
}

// english finds three English words in a row in what a picture shows.
var english = regexp.MustCompile(`>[^<]*\b[a-z]{2,}(?: [a-z]{2,}){2}\b[^<]*<`)

// chinese fails if the Chinese picture has English sentences.
func chinese(t *testing.T, name string, r Result, look Look) {
	t.Helper()
	svg, err := r.SVG(look, lang.Draft)
	if err != nil {
		t.Errorf("%s in Chinese: %v", name, err)
	}
	for _, s := range english.FindAllString(svg, -1) {
		t.Errorf("%s: not Chinese: %s", name, s)
	}
	if strings.ContainsFunc(svg, lang.Mark) {
		t.Errorf("%s: a mark is left in the picture", name)
	}
}

// The names of axes are in the catalog.
func TestNamesInChinese(t *testing.T) {
	for _, s := range axes {
		if langtest.Need(t, *update, "words-report.yaml", "axes", s) && lang.Stored(s).In(lang.Draft) == s {
			t.Errorf("no Chinese of %q", s)
		}
	}
}

func recorded(t *testing.T, run string) (rs []record.Result) {
	t.Helper()
	b, err := os.ReadFile("../analysis/testdata/runs/" + run + ".jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range record.All(z, run) {
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, *r)
	}
	return rs
}

// needOf returns the study of a recorded run, which shipped studies have outgrown.
func needOf(t *testing.T, run string) study.Study {
	t.Helper()
	b, err := os.ReadFile("../analysis/testdata/runs/" + run + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := study.Load(b, run+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
