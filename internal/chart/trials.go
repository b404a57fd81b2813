package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/foreign"
)

// Trials shows every trial in the order of blocks, as the distance from its network's median: a row per
// network, all on one scale, so that what disturbed the machine stands out across rows.
type Trials struct {
	Rows   []TrialRow
	Blocks []string // names along the horizontal axis
	Axis   string   // the quantity with its unit
	Alt    string   // text alternative
	// Words of the drawing; "" means English. Scale has {} for the share.
	Block, Scale, NotCounted, Disturbed string
}

// A TrialRow is one network. Its points ascend by At.
type TrialRow struct {
	Name   string
	Color  int
	Median float64
	Points []TrialPoint
}

// A TrialPoint is one trial.
type TrialPoint struct {
	At    int // index of Trials.Blocks
	Value float64
	Has   bool // a value
	State TrialState
	Tip   string
}

// A TrialState is how a trial is drawn.
type TrialState int

const (
	TrialCounts    TrialState = iota
	TrialDisturbed            // a triangle
	TrialNot                  // a cross: it failed, or its conditions did not hold
)

// spans are the distances from the median that rows can show; farther points stand at the edge.
var spans = []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5}

// span returns the smallest that has room for most trials: of those that count, or of all if most of them are drawn as
// disturbed.
func (v Trials) span() float64 {
	var far, disturbed []float64
	for _, r := range v.Rows {
		for _, p := range r.Points {
			switch {
			case !p.Has:
			case p.State == TrialCounts:
				far = append(far, r.distance(p))
			case p.State == TrialDisturbed:
				disturbed = append(disturbed, r.distance(p))
			}
		}
	}
	if len(disturbed) > len(far) {
		far = append(far, disturbed...)
	}
	if far == nil {
		return spans[0]
	}
	slices.Sort(far)
	most := far[len(far)*95/100]
	for _, s := range spans {
		if most <= s {
			return s
		}
	}
	return spans[len(spans)-1]
}

// distance returns how far a point is from its row's median, as a share of it.
func (r TrialRow) distance(p TrialPoint) float64 {
	if r.Median <= 0 {
		return 0
	}
	return math.Abs(p.Value/r.Median - 1)
}

func (v Trials) SVG() (string, error) {
	var rows []Row
	for _, r := range v.Rows {
		rows = append(rows, Row{Name: r.Name})
		for _, p := range r.Points {
			if err := finite(r.Name, p.Value, r.Median); err != nil {
				return "", err
			}
			if p.At < 0 || p.At >= len(v.Blocks) {
				return "", fmt.Errorf("chart: %s: trial in block %d: want one of %d blocks", r.Name, p.At, len(v.Blocks))
			}
		}
	}
	g := newGrid(rows, 4)
	g.right = width - 5
	c := newCanvas(g.bottom + axisHeight)
	x := axis{hi: float64(len(v.Blocks) - 1), from: g.left + 5, to: g.right}
	span := v.span()
	c.open(" data-foot=\"\"")
	every := int(step(float64(max(len(v.Blocks), 1)), 6))
	for i := 0; i < len(v.Blocks); i += max(every, 1) {
		c.text(inkMuted, middle, smallSize, x.pos(float64(i)), g.bottom+13, clip(v.Blocks[i], 40, smallSize))
	}
	c.text(inkMuted, start, smallSize, 0, g.bottom+13, cmp.Or(v.Block, "block"))
	c.text(inkMuted, start, smallSize, 0, g.bottom+31, strings.ReplaceAll(cmp.Or(v.Scale, "Half a row is {} of the median."), "{}", fmt.Sprintf("%.0f %%", 100*span)))
	c.legend(v, g)
	c.shut()
	c.root = fmt.Sprintf(" data-top=\"%s\" data-bottom=\"%s\" data-u=\"%s\"", px(g.top), px(g.bottom), foreign.XML(v.Axis))
	whole := v.whole()
	if whole {
		c.root += " data-w=\"" + foreign.XML(cmp.Or(v.Block, "block")) + " \"" + each("data-x", v.Blocks)
	}
	for i, r := range v.Rows {
		var tips []string
		for _, p := range r.Points {
			tip := p.Tip
			if !whole {
				tip = cmp.Or(v.Block, "block") + " " + v.Blocks[p.At] + ": " + tip
			}
			tips = append(tips, tip)
		}
		c.mark(of(r.Color, g.height)+each("data-l", tips), r.Name)
		c.rect(inkGrid, g.left, g.y(i)-0.5, width-g.left, 1)
		c.trials(r, x, func(p TrialPoint) float64 {
			if !p.Has || r.Median <= 0 {
				return g.y(i)
			}
			off := max(-1, min((p.Value/r.Median-1)/span, 1))
			return g.y(i) - off*(g.height/2-3)
		})
		c.text(inkFG, start, textSize, 0, g.y(i)+4, g.names[i])
		c.shut()
	}
	return c.svg(v.Alt), nil
}

// whole reports whether every row has one point in every block.
func (v Trials) whole() bool {
	for _, r := range v.Rows {
		for i, p := range r.Points {
			if p.At != i {
				return false
			}
		}
	}
	return true
}

// trials draws the points of a row. The first path has all of them, for the page's script.
func (c *canvas) trials(r TrialRow, x axis, y func(TrialPoint) float64) {
	var dots, triangles, crosses strings.Builder
	for _, p := range r.Points {
		at, high := x.pos(float64(p.At)), y(p)
		dots.WriteString("M" + px(at) + "," + px(high))
		switch p.State {
		case TrialCounts:
			dots.WriteString("H" + px(at)) // of no length
		case TrialDisturbed:
			triangles.WriteString(points("M", [][2]float64{{at - 3, high + 2}, {at + 3, high + 2}, {at, high - 3}}) + "Z")
		default:
			crosses.WriteString(points("M", [][2]float64{{at - 2.5, high - 2.5}, {at + 2.5, high + 2.5}}) + points("M", [][2]float64{{at - 2.5, high + 2.5}, {at + 2.5, high - 2.5}}))
		}
	}
	in, _ := seriesInk(r.Color)
	c.add(inked("p", in)+" stroke-width=\"4.4\"", "<path d=\""+dots.String()+"\"/>")
	for _, d := range []string{triangles.String(), crosses.String()} {
		if d != "" {
			c.stroke(inkBad, 1.3, "", d)
		}
	}
}

// legend names the marks that the rows have.
func (c *canvas) legend(v Trials, g grid) {
	has := map[TrialState]bool{}
	for _, r := range v.Rows {
		for _, p := range r.Points {
			has[p.State] = true
		}
	}
	at := width
	for _, m := range []struct {
		state TrialState
		text  string
	}{{TrialNot, "× " + cmp.Or(v.NotCounted, "not counted")}, {TrialDisturbed, "△ " + cmp.Or(v.Disturbed, "disturbed")}} {
		if has[m.state] {
			c.text(inkBad, end, smallSize, at, g.bottom+31, m.text)
			at -= textWidth(m.text, smallSize) + 8
		}
	}
}
