package analysis

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/weir-bench/weir/record"
)

// ofPair returns a trial between two hosts, swapped in even blocks.
func ofPair(block int, network, of string, value float64) record.Result {
	r := result(block, network, "ping", value, "pair", of)
	r.Observed = map[string]string{"client": of, "server": of, "swapped": map[bool]string{true: "true", false: "false"}[block%2 == 0]}
	return r
}

// matrixRun has three paths of very different speeds; network b carries half.
func matrixRun(blocks int) (rs []record.Result) {
	for block := 1; block <= blocks; block++ {
		for of, speed := range map[string]float64{"h1-h2": 1, "h1-h10": 10, "h2-h10": 100} {
			v := speed * (1 + 0.001*float64(block%3))
			rs = append(rs, ofPair(block, "a", of, v), ofPair(block, "b", of, v/2))
		}
	}
	return rs
}

func TestPairsArePooled(t *testing.T) {
	p := New(matrixRun(12), Options{Baseline: "a"})
	if len(p.Tables) != 1 || p.Pairs != 3 || p.Comparisons != 1 || len(p.Residue) != 0 {
		t.Fatalf("%d tables, %d pairs, %d comparisons, residue %v", len(p.Tables), p.Pairs, p.Comparisons, p.Residue)
	}
	a, b := row(t, p, 0, "a"), row(t, p, 0, "b")
	if a.OK != 36 || a.Value.N != 12 || a.Value.Center < 10 || a.Value.Center > 10.1 {
		t.Errorf("%d trials, value %+v", a.OK, a.Value)
	}
	if b.Ratio.N != 12 || math.Abs(b.Ratio.Center-0.5) > 1e-9 {
		t.Errorf("ratio %+v: want one of each block", b.Ratio)
	}
	if x, y := b.pairs.base, b.pairs.own; len(x) != 12 || y[0] != x[0]/2 {
		t.Errorf("pairs of blocks %v and %v", x, y)
	}
	if m, _ := a.Get("throughput"); m.N != 12 || m.Mean < 37 || m.Mean > 37.1 {
		t.Errorf("what adds up: %+v", m)
	}
	rs := matrixRun(12)
	slices.Reverse(rs)
	if !reflect.DeepEqual(New(rs, Options{Baseline: "a"}), p) {
		t.Error("the order of the results matters")
	}
}

// A ratio compares the same paths, even if one network lacks some.
func TestPairsInCommon(t *testing.T) {
	rs := matrixRun(12)
	for i, r := range rs {
		if r.Config["network"] == "b" && r.Config["pair"] == "h2-h10" {
			rs[i].Status = record.Failed
		}
	}
	if b := row(t, New(rs, Options{Baseline: "a"}), 0, "b"); b.Ratio.N != 12 || math.Abs(b.Ratio.Center-0.5) > 1e-9 {
		t.Errorf("ratio %+v", b.Ratio)
	}
	rs = matrixRun(12)
	for i, r := range rs {
		if lone := r.Config["pair"] == "h1-h2"; lone != (r.Config["network"] == "b") {
			rs[i].Status = record.Failed
		}
	}
	if b := row(t, New(rs, Options{Baseline: "a"}), 0, "b"); b.Ratio.N != 0 {
		t.Errorf("ratio %+v of networks without a path in common", b.Ratio)
	}
}

// The spread is that of the blocks, whose values are means over their pairs of hosts.
func TestStandardDeviation(t *testing.T) {
	var rs []record.Result
	for block, v := range []float64{2, 4, 4, 4, 5, 5, 7, 9} {
		rs = append(rs, ofPair(block, "a", "h1-h2", v-1), ofPair(block, "a", "h1-h3", v+1))
	}
	m, _ := row(t, New(rs, Options{}), 0, "a").Get("throughput")
	if want := math.Sqrt(32. / 7); m.Mean != 5 || math.Abs(m.SD-want) > 1e-12 {
		t.Errorf("mean %g, standard deviation %g, want 5 and %g", m.Mean, m.SD, want)
	}
	if m, _ := row(t, New(rs[:2], Options{}), 0, "a").Get("throughput"); m.SD != 0 {
		t.Errorf("standard deviation %g of one block", m.SD)
	}
}

func TestHosts(t *testing.T) {
	b := row(t, New(matrixRun(4), Options{Baseline: "a"}), 0, "b")
	hosts, medians := b.Hosts()
	if !slices.Equal(hosts, []string{"h1", "h2", "h10"}) || len(medians) != 6 {
		t.Fatalf("%v, %v", hosts, medians)
	}
	// In one direction, blocks 1 and 3 have 1.001 and 1 of the speed; in the other, blocks 2 and 4
	// have 1.002 and 1.001.
	if v, w := medians[[2]string{"h2", "h10"}], medians[[2]string{"h10", "h2"}]; v < 50.0249 || v > 50.0251 || w < 50.0749 || w > 50.0751 {
		t.Errorf("h2 to h10 %v, and back %v", v, w)
	}
	if hosts, _ := row(t, New(drifting(4), Options{}), 0, "host").Hosts(); hosts != nil {
		t.Errorf("hosts %v without pairs", hosts)
	}
}

// One disturbed pair does not disturb the whole block.
func TestDisturbedPairs(t *testing.T) {
	rs := matrixRun(6)
	for i, r := range rs {
		if r.Config["pair"] == "h1-h2" {
			rs[i].Status = record.Disturbed
		}
	}
	if _, busy := Steady(0, New(rs, Options{}).samples...); busy != nil {
		t.Errorf("a third of the trials: %+v", busy)
	}
	rs[slices.IndexFunc(rs, func(r record.Result) bool { return r.Status == record.OK })].Status = record.Disturbed
	if _, busy := Steady(0, New(rs, Options{}).samples...); busy == nil || busy.Blocks != 7 || busy.Of != 18 || !busy.Pairs {
		t.Errorf("more than a third: %+v, want 7 of 18 pairs", busy)
	}
}
