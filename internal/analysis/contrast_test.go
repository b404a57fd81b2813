package analysis_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// network divides all other networks by base. The list of levels keeps it apart from the baseline.
func network(base string, networks []string) analysis.Contrast {
	return analysis.Contrast{To: map[string]string{"network": base}, Of: map[string][]string{"network": slices.DeleteFunc(slices.Clone(networks), func(n string) bool { return n == base })}}
}

// A contrast of networks is the ratio of the tables, in every recorded run: with and without
// disturbed trials, pairs of hosts, split response times, and own CPU time.
func TestContrastOfNetworksIsTheTableRatio(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	files, err := filepath.Glob("testdata/runs/*.jsonl.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded runs: %v", err)
	}
	var ratios, paths, owns, busy int
	for _, file := range files {
		s := studyOf(t, strings.TrimSuffix(file, ".jsonl.gz")+".yaml")
		if len(s.Networks) < 2 {
			continue
		}
		var networks []string
		for _, u := range s.Networks {
			networks = append(networks, u.Name)
		}
		plain := network(s.Baseline, networks)
		cpu := plain
		cpu.Value = "cpu.own.per.transaction"
		rs := manyBlocks(recorded(t, file), 8)
		for i := range rs {
			rs[i].Values = append(rs[i].Values, record.Value{Name: cpu.Value, Unit: "s/transaction", Value: rs[i].Elapsed * float64(len(rs[i].Config["network"]))})
		}
		r := analysis.New(rs, analysis.Options{Baseline: s.Baseline, Contrasts: []analysis.Contrast{plain, cpu}})
		for table, row := range r.Rows() {
			if row.Baseline || row.Ratio.N == 0 {
				continue
			}
			same := func(x analysis.ContrastRow) bool {
				return x.Probe == table.Probe && x.Network == row.Network && reflect.DeepEqual(x.Config, table.Config)
			}
			i := slices.IndexFunc(r.Contrasts[0].Rows, same)
			if i < 0 {
				t.Fatalf("%s: no contrast of %s", file, table.Cell(*row))
			}
			x := r.Contrasts[0].Rows[i]
			if !reflect.DeepEqual(x.Ratio, row.Ratio) || !reflect.DeepEqual(x.Path, row.Path) || !reflect.DeepEqual(x.Value, row.Value) ||
				x.Same != row.Same || x.Detectable != row.Detectable || !reflect.DeepEqual(x.Far, row.Far) || !reflect.DeepEqual(x.Busy, row.Busy) ||
				x.Metric != table.Metric || x.Unit != table.Unit || x.Missing != "" {
				t.Errorf("%s, %s:\n got %+v\nwant %+v", file, table.Cell(*row), x, row.Ratio)
			}
			ratios++
			if row.Path.N > 0 {
				paths++
			}
			if row.Busy != nil {
				busy++
			}
			if row.Own.Name == cpu.Value && row.Own.Ratio.N > 0 {
				owns++
				if x := r.Contrasts[1].Rows[slices.IndexFunc(r.Contrasts[1].Rows, same)]; !reflect.DeepEqual(x.Ratio, row.Own.Ratio) || !reflect.DeepEqual(x.Value, row.Own.Value) {
					t.Errorf("%s, %s: own CPU cost\n got %+v\nwant %+v", file, table.Cell(*row), x.Ratio, row.Own.Ratio)
				}
			}
		}
	}
	if ratios < 100 || paths < 10 || owns < 3 || busy < 3 {
		t.Errorf("the runs have %d ratios, %d of paths, %d of own CPU cost, %d with disturbed trials: the test needs more", ratios, paths, owns, busy)
	}
}

// factorial returns trials of probe p on networks a and b, with loads idle and busy: value gives the
// value of a cell. The machine drifts.
func factorial(blocks int, value func(network, load string) float64) (rs []record.Result) {
	noise := rand.New(rand.NewPCG(1, 2))
	for b := 1; b <= blocks; b++ {
		for _, n := range []string{"a", "b", "c"} {
			for _, l := range []string{"idle", "busy", "full"} {
				v := value(n, l) * (1 + 0.3*math.Sin(float64(b))) * math.Exp(0.01*noise.NormFloat64())
				rs = append(rs, record.Result{Trial: fmt.Sprint(b, n, l), Block: b, Status: record.OK,
					Config: map[string]string{"network": n, "probe": "p", "load": l},
					Values: []record.Value{{Name: "rtt", Unit: "s", Value: v}, {Name: "rtt.p99", Unit: "s", Value: 3 * v}, {Name: "cpu.per.packet", Unit: "s/packet", Value: 2 * v}}})
			}
		}
	}
	return rs
}

var truth = map[string]float64{"idle": 1, "busy": 2, "full": 5}

// time multiplies by the load and, on network b under load, by another 1.5.
func interacting(network, load string) float64 {
	v := 1e-5 * truth[load]
	if network == "b" && load != "idle" {
		v *= 1.5
	}
	return v
}

func TestContrasts(t *testing.T) {
	to := map[string]string{"load": "idle"}
	r := analysis.New(factorial(24, interacting), analysis.Options{Networks: []string{"c", "b", "a"}, Contrasts: []analysis.Contrast{
		{To: to},
		{To: to, Of: map[string][]string{"load": {"busy"}}, In: map[string][]string{"network": {"a", "b"}}, Value: "rtt.p99"},
		{To: to, Per: map[string]string{"network": "a"}},
		{To: map[string]string{"load": "idle", "network": "a"}, Value: "cpu.per.packet"},
		{To: map[string]string{"network": "a"}},
	}})
	type want struct {
		cell, of string
		ratio    float64
	}
	for i, want := range [][]want{
		{{"c", "map[load:busy]", 2}, {"c", "map[load:full]", 5}, {"b", "map[load:busy]", 3}, {"b", "map[load:full]", 7.5}, {"a", "map[load:busy]", 2}, {"a", "map[load:full]", 5}},
		{{"b", "map[load:busy]", 3}, {"a", "map[load:busy]", 2}},
		{{"c", "map[load:busy]", 1}, {"c", "map[load:full]", 1}, {"b", "map[load:busy]", 1.5}, {"b", "map[load:full]", 1.5}},
		{{"c", "map[load:busy network:c]", 2}, {"c", "map[load:full network:c]", 5}, {"c", "map[load:idle network:c]", 1},
			{"b", "map[load:busy network:b]", 3}, {"b", "map[load:full network:b]", 7.5}, {"b", "map[load:idle network:b]", 1},
			{"a", "map[load:busy network:a]", 2}, {"a", "map[load:full network:a]", 5}},
		{{"c", "map[network:c]", 1}, {"b", "map[network:b]", 1.5}, {"c", "map[network:c]", 1}, {"b", "map[network:b]", 1.5}, {"c", "map[network:c]", 1}, {"b", "map[network:b]", 1}},
	} {
		rows := r.Contrasts[i].Rows
		if len(rows) != len(want) {
			t.Fatalf("contrast %d has %d rows, want %d: %+v", i, len(rows), len(want), rows)
		}
		for j, w := range want {
			x := rows[j]
			if x.Network != w.cell || fmt.Sprint(x.Of) != w.of || math.Abs(x.Ratio.Center/w.ratio-1) > 0.02 || !x.Ratio.Contains(w.ratio) || x.Missing != "" {
				t.Errorf("contrast %d, row %d: %s %v %+v, want %+v", i, j, x.Network, x.Of, x.Ratio, w)
			}
			if x.Same != x.Ratio.Contains(1) || x.Same && x.Detectable == 0 || x.Ratio.Confidence != r.Each {
				t.Errorf("contrast %d, row %d: %+v", i, j, x)
			}
		}
	}
	// The difference is of the same blocks, except with per, where there is none.
	if x := r.Contrasts[0].Rows[2]; math.Abs(x.Difference.Center-2e-5) > 2e-6 || !x.Difference.Bounded() || x.Difference.Confidence != r.Each {
		t.Errorf("difference %+v of %+v and %+v", x.Difference, x.Value, x.Base)
	}
	if x := r.Contrasts[2].Rows[0]; x.Difference.N != 0 {
		t.Errorf("a ratio of ratios has a difference: %+v", x.Difference)
	}
	if x := r.Contrasts[4].Rows[0]; x.Levels["load"] != "busy" || r.Contrasts[0].Rows[0].Levels["load"] != "" || r.Contrasts[0].Rows[0].Metric != "rtt" {
		t.Errorf("%+v", x)
	}
	// All hold together, and the run plans its blocks for all.
	ratios := 0
	for range r.Ratios() {
		ratios++
	}
	if n := 6 + 2 + 4 + 8 + 6; r.Comparisons != n || ratios != n || r.Each != stat.Adjust(0.95, n) {
		t.Errorf("%d comparisons, %d ratios, each at %v: want %d", r.Comparisons, ratios, r.Each, n)
	}
}

// Without the pairing by block, the drift between them would hide a difference of 3 %.
func TestContrastIsPaired(t *testing.T) {
	var rs []record.Result
	for _, r := range factorial(40, func(_, load string) float64 { return map[string]float64{"idle": 1, "busy": 1.03, "full": 1}[load] }) {
		r.Values = slices.Clone(r.Values)
		r.Values[0].Value = math.Round(r.Values[0].Value*1e6) / 1e6
		rs = append(rs, r)
	}
	r := analysis.New(rs, analysis.Options{Contrasts: []analysis.Contrast{{To: map[string]string{"load": "idle"}, Of: map[string][]string{"load": {"busy"}}}}})
	for _, x := range r.Contrasts[0].Rows {
		if x.Same || !x.Ratio.Contains(1.03) || x.Ratio.Hi-x.Ratio.Lo > 0.06 {
			t.Errorf("%s: %+v", x.Network, x.Ratio)
		}
	}
}

// The contrast that is the baseline is in the tables only, and counts once. One with another network is
// a contrast.
func TestBaselineContrast(t *testing.T) {
	rs := factorial(12, interacting)
	plain := analysis.New(rs, analysis.Options{Baseline: "a"})
	r := analysis.New(rs, analysis.Options{Baseline: "a", Contrasts: []analysis.Contrast{{To: map[string]string{"network": "a"}, Text: "networks"}}})
	if len(r.Contrasts) != 0 || r.Comparisons != plain.Comparisons || !reflect.DeepEqual(r.Tables[0].Rows[1].Ratio, plain.Tables[0].Rows[1].Ratio) {
		t.Errorf("%d contrasts, %d comparisons, want %d", len(r.Contrasts), r.Comparisons, plain.Comparisons)
	}
	r = analysis.New(rs, analysis.Options{Baseline: "a", Contrasts: []analysis.Contrast{{To: map[string]string{"network": "a"}}, {To: map[string]string{"network": "b"}}}})
	if len(r.Contrasts) != 1 || len(r.Contrasts[0].Rows) != 6 || r.Comparisons != 2*plain.Comparisons {
		t.Errorf("%d contrasts, %d comparisons, want 1 and %d", len(r.Contrasts), r.Comparisons, 2*plain.Comparisons)
	}
}

func TestContrastMissing(t *testing.T) {
	to := analysis.Contrast{To: map[string]string{"load": "idle"}, Of: map[string][]string{"load": {"busy"}}, In: map[string][]string{"network": {"b"}}}
	per, value, units := to, to, analysis.Contrast{To: map[string]string{"probe": "q"}, In: map[string][]string{"network": {"a"}, "load": {"idle"}}}
	per.Per = map[string]string{"network": "a"}
	value.Value = "jitter"
	is := func(r record.Result, network, load string) bool {
		return r.Config["network"] == network && r.Config["load"] == load
	}
	for name, c := range map[string]struct {
		contrast analysis.Contrast
		change   func(r *record.Result) (keep bool)
		want     string
	}{
		"failed":       {to, func(r *record.Result) bool { r.Status = status(is(*r, "b", "busy")); return true }, "no ok trial"},
		"base failed":  {to, func(r *record.Result) bool { r.Status = status(is(*r, "b", "idle")); return true }, "its divisor has no ok trial"},
		"base absent":  {to, func(r *record.Result) bool { return !is(*r, "b", "idle") }, "the run did not measure its divisor"},
		"per absent":   {per, func(r *record.Result) bool { return !is(*r, "a", "idle") }, "the run did not measure the reference ratio"},
		"per failed":   {per, func(r *record.Result) bool { r.Status = status(is(*r, "a", "busy")); return true }, "the reference ratio has no ok trial"},
		"other blocks": {to, func(r *record.Result) bool { return is(*r, "b", "idle") == (r.Block%2 == 0) }, "shares no block with its divisor"},
		"value":        {value, func(*record.Result) bool { return true }, "no trial of the cell reports jitter"},
		"base value": {value, func(r *record.Result) bool {
			if is(*r, "b", "busy") {
				r.Values = append(r.Values, record.Value{Name: "jitter", Unit: "s", Value: 1})
			}
			return true
		}, "no trial of its divisor reports jitter"},
		"zero": {to, func(r *record.Result) bool {
			if is(*r, "b", "idle") {
				r.Values = []record.Value{{Name: "rtt", Unit: "s"}}
			}
			return true
		}, "no ratio: 12 of 12 ratios are infinite"},
		"units": {units, func(r *record.Result) bool {
			if r.Config["load"] == "busy" {
				r.Config = map[string]string{"network": r.Config["network"], "probe": "q", "load": "idle"}
				r.Values = []record.Value{{Name: "throughput", Unit: "bit/s", Value: 1e9}}
			}
			return true
		}, "measures rtt in s, its divisor throughput in bit/s"},
	} {
		var rs []record.Result
		for _, r := range factorial(12, interacting) {
			if c.change(&r) {
				rs = append(rs, r)
			}
		}
		r := analysis.New(rs, analysis.Options{Contrasts: []analysis.Contrast{c.contrast}})
		rows := r.Contrasts[0].Rows
		if len(rows) != 1 || rows[0].Missing != c.want || rows[0].Ratio.N != 0 || rows[0].Same {
			t.Errorf("%s: %d rows, missing %q, want %q", name, len(rows), rows[0].Missing, c.want)
		}
		if base := name == "base failed" || name == "other blocks"; base && rows[0].Value.N == 0 {
			t.Errorf("%s: no value", name)
		}
	}
}

func status(failed bool) record.Status {
	if failed {
		return record.Failed
	}
	return record.OK
}

// A probe has only some of the factors: its cell divides those of all levels of the others.
func TestContrastOfProbes(t *testing.T) {
	var rs []record.Result
	for b := 1; b <= 12; b++ {
		add := func(v float64, config map[string]string) {
			rs = append(rs, record.Result{Trial: fmt.Sprint(b, config), Block: b, Status: record.OK, Config: config,
				Values: []record.Value{{Name: record.Quantity(config["probe"] + ".rate"), Unit: "bit/s", Value: v * float64(b)}}})
		}
		add(8, map[string]string{"network": "a", "probe": "tcp"})
		add(2, map[string]string{"network": "a", "probe": "udp", "packets": "1"})
		add(4, map[string]string{"network": "a", "probe": "udp", "packets": "7"})
	}
	r := analysis.New(rs, analysis.Options{Probes: []string{"tcp", "udp"}, Contrasts: []analysis.Contrast{
		{To: map[string]string{"probe": "tcp"}},
		{To: map[string]string{"probe": "udp", "packets": "1"}},
		{To: map[string]string{"packets": "1"}},
	}})
	got := ""
	for _, c := range r.Contrasts {
		for _, x := range c.Rows {
			got += fmt.Sprintf("%s %s %v %s %.3g\n", x.Probe, x.Metric, x.Of, x.Missing, x.Ratio.Center)
		}
		got += "\n"
	}
	const want = `udp udp.rate map[probe:udp]  0.25
udp udp.rate map[probe:udp]  0.5

tcp tcp.rate map[probe:tcp]  4
udp udp.rate map[packets:7 probe:udp]  2

udp udp.rate map[packets:7]  2

`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
