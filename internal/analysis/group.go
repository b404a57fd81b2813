package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A cells is one table in the making: the trials of each network.
type cells struct {
	probe         string
	asked, levels map[string]string
	trials        map[string][]record.Result // by network, by block
}

// probeOrder is how a reader goes from bytes to packets to time.
var probeOrder = []string{"tcp-stream", "udp-stream", "udp-rate", "udp-capacity", "tcp-rr", "udp-rr", "udp-open", "tcp-crr", "ping"}

func group(results []record.Result, first []string) []cells {
	byKey := map[string]*cells{}
	for _, r := range results {
		asked := maps.Clone(r.Config)
		delete(asked, Network)
		delete(asked, pair) // all of them make one table
		k := key(asked)
		c, ok := byKey[k]
		if !ok {
			c = &cells{probe: r.Config[Probe], trials: map[string][]record.Result{}}
			delete(asked, Probe)
			c.asked = asked
			byKey[k] = c
		}
		n := r.Config[Network]
		c.trials[n] = append(c.trials[n], r)
	}
	out := make([]cells, 0, len(byKey))
	for _, c := range byKey {
		out = append(out, *c)
	}
	for i := range out {
		out[i].levels = varying(out, out[i])
	}
	probes := order(levels(results, Probe), append(slices.Clone(first), probeOrder...))
	slices.SortFunc(out, func(a, b cells) int {
		return cmp.Or(cmp.Compare(slices.Index(probes, a.probe), slices.Index(probes, b.probe)), compareLevels(a.asked, b.asked))
	})
	return out
}

// varying returns the factors of c that have another level elsewhere under the same probe.
func varying(all []cells, c cells) map[string]string {
	out := map[string]string{}
	for _, other := range all {
		if other.probe != c.probe {
			continue
		}
		for k, v := range c.asked {
			if w, ok := other.asked[k]; !ok || w != v {
				out[k] = v
			}
		}
	}
	return out
}

// key names a combination of levels; no two combinations share one.
func key(m map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b.WriteString(k + "\x00" + m[k] + "\x01")
	}
	return b.String()
}

func compareLevels(a, b map[string]string) int {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if c := compareLevel(a[k], b[k]); c != 0 {
			return c
		}
	}
	return 0
}

// compareLevel puts 64 before 9k.
func compareLevel(a, b string) int {
	x, okX := quantity(a)
	y, okY := quantity(b)
	if okX && okY && x != y {
		return cmp.Compare(x, y)
	}
	return Natural(a, b)
}

// Natural compares strings as people number things: "9" before "10", "h2"
// before "h10".
func Natural(a, b string) int {
	whole := cmp.Compare(a, b)
	for a != "" && b != "" {
		da, ra := digits(a)
		db, rb := digits(b)
		if da != "" && db != "" {
			ta, tb := strings.TrimLeft(da, "0"), strings.TrimLeft(db, "0")
			if c := cmp.Or(cmp.Compare(len(ta), len(tb)), cmp.Compare(ta, tb)); c != 0 {
				return c
			}
			a, b = ra, rb
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), whole)
}

func digits(s string) (number, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// table fills everything but the intervals of the ratios, whose confidence
// depends on how many there are.
func (c cells) table(networks []string, baseline string) Table {
	t := Table{Probe: c.probe, Config: c.asked, Levels: c.levels}
	t.Metric, t.Unit = c.metric()
	for _, n := range networks {
		if trials, ok := c.trials[n]; ok {
			t.Rows = append(t.Rows, newRow(n, trials, t.Metric, t.Unit))
		}
	}
	for i := range t.Rows {
		t.Rows[i].Baseline = t.Rows[i].Network == baseline
	}
	return t
}

// metric returns what most ok trials put first.
func (c cells) metric() (name, unit string) {
	type first struct{ name, unit string }
	count := map[first]int{}
	for _, trials := range c.trials {
		for _, r := range trials {
			if r.Status == record.OK && len(r.Values) > 0 {
				count[first{r.Values[0].Name, r.Values[0].Unit}]++
			}
		}
	}
	var best first
	for f, n := range count {
		if c := cmp.Or(cmp.Compare(n, count[best]), cmp.Compare(best.name, f.name), cmp.Compare(best.unit, f.unit)); c > 0 {
			best = f
		}
	}
	return best.name, best.unit
}

// comparisons returns how many ratios to the baseline there are: one for every
// network that shares a block with it, and one more where response times are
// taken apart.
func (c cells) comparisons(baseline string) int {
	metric, _ := c.metric()
	n := 0
	for network := range c.trials {
		for _, name := range []string{metric, pathValue} {
			if a, _ := c.pairs(baseline, network, name); network != baseline && len(a) > 0 {
				n++
			}
		}
	}
	return n
}

func (c cells) compare(t *Table, baseline string, confidence float64) {
	for i := range t.Rows {
		r := &t.Rows[i]
		a, b := c.pairs(baseline, r.Network, t.Metric)
		if r.Baseline {
			continue
		}
		if r.Refused = Refused(c.trials[baseline], c.trials[r.Network]); r.Refused != "" || len(a) == 0 {
			continue
		}
		r.Ratio, a, b, _ = stat.Paired(a, b, confidence)
		r.Same = r.Ratio.Contains(1)
		r.Detectable = stat.Detectable(a, b, confidence)
		if a, b := c.pairs(baseline, r.Network, pathValue); len(a) > 0 {
			r.Path = stat.Ratio(a, b, confidence)
		}
		if far := c.far(baseline, r.Network, t.Metric); far != "" {
			r.Warnings = append(r.Warnings, far)
		}
	}
}

// maxNamed is how many blocks are worth naming one by one.
const maxNamed = 3

// far names the blocks whose ratio is far from that of the others. They count
// like any other block: an outlier is a reason to look, not to drop.
func (c cells) far(base, other, metric string) string {
	blocks, a, b := c.match(base, other, metric)
	out := stat.Outliers(a, b)
	if len(out) > maxNamed {
		var ratios []float64
		for _, i := range out {
			ratios = append(ratios, b[i]/a[i])
		}
		return fmt.Sprintf("%d of %d blocks are far from the others, at %.2f× to %.2f×", len(out), len(a), slices.Min(ratios), slices.Max(ratios))
	}
	var parts []string
	for _, i := range out {
		parts = append(parts, fmt.Sprintf("block %d is far from the others, at %.2f×", blocks[i], b[i]/a[i]))
	}
	return strings.Join(parts, "; ")
}

// pairs returns the values of both networks in the blocks where both are ok.
func (c cells) pairs(base, other, metric string) (a, b []float64) {
	if metric == "" {
		return nil, nil
	}
	_, a, b = c.match(base, other, metric)
	return a, b
}

func (c cells) match(base, other, metric string) (blocks []int, a, b []float64) {
	return match(valuesOf(c.trials[base], metric), valuesOf(c.trials[other], metric))
}

func appendNew(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
