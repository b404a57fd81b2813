package analysis

import (
	"math"
	"testing"

	"github.com/weir-bench/weir/record"
)

func TestProjectAnyFactor(t *testing.T) {
	var rs []record.Result
	for block := 1; block <= 12; block++ {
		speed := 1 + 0.1*math.Sin(float64(block)) // of the machine, common to a block
		for _, n := range []struct {
			name   string
			factor float64
		}{{"host", 4}, {"vx", 2}} {
			for _, p := range []struct {
				name   string
				metric record.Quantity
				factor float64
			}{{"engine", "rtt", 1}, {"other", "rtt.mean", 3}} {
				for _, mtu := range []struct {
					level  string
					factor float64
				}{{"1500", 1}, {"9000", 5}} {
					r := result(block, n.name, p.name, speed*n.factor*p.factor*mtu.factor, "mtu", mtu.level)
					r.Values[0].Name = p.metric
					rs = append(rs, r)
				}
			}
		}
	}
	run := New(rs, Options{})
	for _, c := range []struct {
		p      Projection
		tables int
		ratio  float64
	}{
		{Projection{Row: Network, Baseline: "host"}, 4, 0.5},
		{Projection{Row: Network, Baseline: "vx"}, 4, 2},
		{Projection{Row: Probe, Baseline: "engine"}, 4, 3}, // tools name values differently
		{Projection{Row: "mtu", Baseline: "1500", Each: 0.9}, 4, 5},
	} {
		tables := run.Project(c.p)
		if len(tables) != c.tables {
			t.Fatalf("%+v: %d tables, want %d", c.p, len(tables), c.tables)
		}
		for _, table := range tables {
			base, other := table.Rows[0], table.Rows[1]
			if base.Level != c.p.Baseline || !base.Baseline || base.Ratio.N != 0 || other.Baseline {
				t.Errorf("%+v: rows %q and %q: the baseline comes first, and has no ratio", c.p, base.Level, other.Level)
			}
			want := 1 - 0.05/4 // of all ratios together
			if c.p.Each > 0 {
				want = c.p.Each
			}
			if math.Abs(other.Ratio.Center-c.ratio) > 1e-9 || other.Ratio.N < 6 || other.Ratio.Confidence != want {
				t.Errorf("%+v, %v: ratio %+v, want %v with %v", c.p, table.Config, other.Ratio, c.ratio, want)
			}
			if _, own := table.Config[c.p.Row]; own || table.Levels[c.p.Row] != "" || (table.Probe == "") != (c.p.Row == Probe) {
				t.Errorf("%+v: table %q of %v, levels %v", c.p, table.Probe, table.Config, table.Levels)
			}
		}
	}
	if tables := run.Project(Projection{Row: Network, Baseline: "absent"}); tables[0].Rows[0].Ratio.N != 0 || tables[0].Rows[1].Ratio.N != 0 {
		t.Error("a ratio to a baseline that is absent")
	}
}

func TestCommon(t *testing.T) {
	series := func(values map[slot]float64) (s Series) {
		for block := 1; block <= 3; block++ {
			for _, pair := range []string{"a-b", "a-c", "b-c"} {
				if v, ok := values[slot{block: block, pair: pair}]; ok {
					s.slots, s.v = append(s.slots, slot{block: block, pair: pair}), append(s.v, v)
				}
			}
		}
		return s
	}
	a := series(map[slot]float64{{1, "a-b", 0}: 1, {1, "a-c", 0}: 2, {1, "b-c", 0}: 9, {2, "a-b", 0}: 5, {3, "a-b", 0}: 7})
	b := series(map[slot]float64{{1, "a-b", 0}: 10, {1, "a-c", 0}: 20, {2, "a-c", 0}: 50, {3, "a-b", 0}: 70})
	blocks, v := Common(a, b)
	// Block 1 has two pairs in common, block 2 none.
	if len(blocks) != 2 || blocks[0] != 1 || blocks[1] != 3 || v[0][0] != 1.5 || v[1][0] != 15 || v[0][1] != 7 || v[1][1] != 70 {
		t.Errorf("blocks %v, values %v", blocks, v)
	}
	if blocks, v = Common(a, a, Series{}); blocks != nil || v[0] != nil {
		t.Errorf("blocks %v, values %v in common with nothing", blocks, v)
	}
	if blocks, v = Common(Series{}); blocks != nil || len(v) != 1 {
		t.Errorf("blocks %v, values %v of nothing", blocks, v)
	}
}
