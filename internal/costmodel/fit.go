package costmodel

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
)

const (
	// LeastSizes is the fewest sizes of a model: a straight line through three says nothing about a
	// fourth.
	LeastSizes = 4
	// MostError is the largest mean error on held-out sizes, as a share. A model beyond it predicts
	// nothing, as where datagrams are fragmented or where small writes share a packet.
	MostError = 0.1
	// degenerate is the share of the variation of segments from which bytes explain it, so that the cost
	// of a segment cannot be told from that of its bytes.
	degenerate = 0.98
)

// A Model is the CPU time that one end of a network spends on a pass of a busy path:
// Pass + Segment × segments + Byte × bytes. Intervals are over blocks, and each holds by itself.
type Model struct {
	Traffic
	Network string        `json:"network"`
	End     string        `json:"end"`              // Sender or Receiver
	Pass    stat.Interval `json:"pass"`             // s per datagram, GSO buffer or write
	Segment stat.Interval `json:"segment,omitzero"` // s per datagram of a GSO buffer; N is 0 for other traffic
	Byte    stat.Interval `json:"byte"`             // s per byte of payload
	// Even is the payload at which bytes cost as much as the pass, bytes. It has no estimate where the
	// cost of a byte can be 0, or beyond the largest size.
	Even   stat.Interval `json:"even,omitzero"`
	Points []Point       `json:"points"` // by size
	Blocks int           `json:"blocks"` // that have all sizes
	// MeanError and LargestError are those of predictions for sizes that were left out of the fit, one
	// size at a time, as shares.
	MeanError    float64 `json:"meanError"`
	LargestError float64 `json:"largestError"`
	// Refused says why there is no model; "" means that it holds.
	Refused lang.Text `json:"refused,omitempty"`

	terms  []string
	blocks []int
	by     [][]float64 // coefficients by block, in the order of terms
}

// A Point is a size of a Model.
type Point struct {
	Size
	Cost stat.Interval `json:"cost"` // s per pass, over blocks
	// Held is the prediction from all other sizes, s.
	Held float64 `json:"held"`
}

// The terms of a model.
const (
	perPass    = "pass"
	perByte    = "byte"
	perSegment = "segment"
)

func (s Size) value(term string) float64 {
	switch term {
	case perByte:
		return s.payload()
	case perSegment:
		return s.Segments
	}
	return 1
}

// group collects the cells of a run by network and traffic.
type group struct {
	network string
	traffic Traffic
	cells   []*cell // by size
}

func groups(run *analysis.Run) []group {
	byKey := map[string]*group{}
	cells := map[string]map[Size]*cell{}
	for r := range run.Results() {
		t, size, x, ok := observe(r)
		if !ok {
			continue
		}
		k := r.Config[analysis.Network] + " " + t.key()
		if byKey[k] == nil {
			byKey[k], cells[k] = &group{network: r.Config[analysis.Network], traffic: t}, map[Size]*cell{}
		}
		if cells[k][size] == nil {
			cells[k][size] = &cell{size: size}
		}
		cells[k][size].add(r.Block, x)
	}
	var out []group
	for k, g := range byKey {
		g.cells = slices.SortedFunc(maps.Values(cells[k]), func(a, b *cell) int {
			return cmp.Or(cmp.Compare(a.size.payload(), b.size.payload()), cmp.Compare(a.size.Segments, b.size.Segments))
		})
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b group) int {
		return cmp.Or(cmp.Compare(kinds[a.traffic.Kind], kinds[b.traffic.Kind]), cmp.Compare(a.traffic.key(), b.traffic.key()),
			cmp.Compare(slices.Index(run.Networks, a.network), slices.Index(run.Networks, b.network)))
	})
	return out
}

// kinds is the order of traffic.
var kinds = map[string]int{UDP: 1, Mmsg: 2, GSO: 3, TCP: 4, Requests: 5, Paced: 6}

// Fit fits a model per network, traffic and end to a run that measured at least LeastSizes sizes on a busy
// path, sorted by traffic and network. It also returns the models that it refuses.
//
// It minimizes the sum of the squared relative errors, because the error of a cost grows with the cost: a
// weighted fit with 1/cost² as weight. Each block has its own fit with the same weights, and the
// coefficients' intervals are those of the median over blocks.
func Fit(run *analysis.Run) (models []Model) {
	for _, g := range groups(run) {
		if !g.traffic.busy() || len(g.cells) < LeastSizes {
			continue
		}
		for _, end := range []string{Sender, Receiver} {
			models = append(models, g.fit(end))
		}
	}
	return models
}

func (g group) fit(end string) Model {
	m := Model{Traffic: g.traffic, Network: g.network, End: end, blocks: common(g.cells)}
	m.Blocks = len(m.blocks)
	costs := make([][]float64, len(g.cells)) // by size and block
	middle := make([]float64, len(g.cells))
	for i, c := range g.cells {
		for _, b := range m.blocks {
			costs[i] = append(costs[i], c.by[b].of(end))
		}
		middle[i] = stat.Middle(costs[i])
		m.Points = append(m.Points, Point{Size: c.size, Cost: stat.Median(costs[i], confidence)})
	}
	if m.terms = terms(m.Points); m.Blocks == 0 || slices.ContainsFunc(middle, func(v float64) bool { return !(v > 0) }) {
		m.Refused = lang.T("no block has all sizes")
		return m
	}
	fit := solver(m.Points, m.terms, middle, -1)
	for b := range m.blocks {
		m.by = append(m.by, fit(func(i int) float64 { return costs[i][b] }))
	}
	m.Pass, m.Byte = m.coefficient(perPass), m.coefficient(perByte)
	if slices.Contains(m.terms, perSegment) {
		m.Segment = m.coefficient(perSegment)
	}
	m.Even = m.even()
	for i, p := range m.Points {
		left := solver(m.Points, m.terms, middle, i)(func(j int) float64 { return middle[j] })
		m.Points[i].Held = m.sum(left, p.Size)
		wrong := math.Abs(m.Points[i].Held/middle[i] - 1)
		m.MeanError += wrong / float64(len(m.Points))
		m.LargestError = max(m.LargestError, wrong)
	}
	switch {
	case !(m.MeanError <= MostError): // also if it is not a number
		m.Refused = lang.T("held-out sizes are %.1f %% off on average, more than %.0f %%", 100*m.MeanError, 100*MostError)
	case !m.Pass.Bounded():
		m.Refused = lang.T("%d blocks are too few for intervals", m.Blocks)
	}
	return m
}

// common returns the blocks in which all cells have a cost, sorted.
func common(cells []*cell) (blocks []int) {
	for b := range cells[0].by {
		if !slices.ContainsFunc(cells, func(c *cell) bool { _, ok := c.by[b]; return !ok }) {
			blocks = append(blocks, b)
		}
	}
	slices.Sort(blocks)
	return blocks
}

// terms returns the terms that sizes can tell apart. Segments count only where they vary by themselves,
// and where the fit of a left-out size still has a size to spare.
func terms(points []Point) []string {
	var seg, bytes []float64
	for _, p := range points {
		seg, bytes = append(seg, p.Segments), append(bytes, p.payload())
	}
	if r := correlation(seg, bytes); len(points) <= LeastSizes || math.IsNaN(r) || r*r > degenerate {
		return []string{perPass, perByte}
	}
	return []string{perPass, perByte, perSegment}
}

// correlation is not a number if one of the two does not vary.
func correlation(a, b []float64) float64 {
	ma, _ := analysis.MeanSD(a)
	mb, _ := analysis.MeanSD(b)
	var aa, bb, ab float64
	for i := range a {
		aa, bb, ab = aa+(a[i]-ma)*(a[i]-ma), bb+(b[i]-mb)*(b[i]-mb), ab+(a[i]-ma)*(b[i]-mb)
	}
	return ab / math.Sqrt(aa*bb)
}

// solver returns the weighted least-squares fit to costs of all sizes but the one at index without.
func solver(points []Point, terms []string, middle []float64, without int) func(cost func(int) float64) []float64 {
	n := len(terms)
	return func(cost func(int) float64) []float64 {
		a := make([][]float64, n) // normal equations, with the right side as last column
		for i := range a {
			a[i] = make([]float64, n+1)
		}
		for p := range points {
			if p == without {
				continue
			}
			w := 1 / (middle[p] * middle[p])
			for i, x := range terms {
				v := w * points[p].value(x)
				for j, y := range terms {
					a[i][j] += v * points[p].value(y)
				}
				a[i][n] += v * cost(p)
			}
		}
		return eliminate(a)
	}
}

// eliminate solves linear equations whose right side is the last column, by Gaussian elimination with
// pivots. Equations without one solution give infinite or undefined values.
func eliminate(a [][]float64) []float64 {
	n := len(a)
	for i := range n {
		for j := i + 1; j < n; j++ {
			if math.Abs(a[j][i]) > math.Abs(a[i][i]) {
				a[i], a[j] = a[j], a[i]
			}
		}
		for j := range n {
			if j == i {
				continue
			}
			f := a[j][i] / a[i][i]
			for k := i; k <= n; k++ {
				a[j][k] -= f * a[i][k]
			}
		}
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = a[i][n] / a[i][i]
	}
	return out
}

func (m Model) sum(coefficients []float64, s Size) (cost float64) {
	for i, t := range m.terms {
		cost += coefficients[i] * s.value(t)
	}
	return cost
}

func (m Model) coefficient(term string) stat.Interval {
	i, vs := slices.Index(m.terms, term), []float64(nil)
	for _, c := range m.by {
		vs = append(vs, c[i])
	}
	return stat.Median(vs, confidence)
}

// in predicts the cost of a pass in one block, s; false if the model lacks the block.
func (m Model) in(block int, s Size) (float64, bool) {
	i, ok := slices.BinarySearch(m.blocks, block)
	if !ok {
		return 0, false
	}
	return m.sum(m.by[i], s), true
}
