package job

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
)

// Every figure's study can run, each of its cells has one place in the picture, and each published
// number belongs to a cell that the study measures.
func TestFiguresFitTheirStudies(t *testing.T) {
	shipped, err := figure.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range shipped {
		if !f.Measured() {
			continue
		}
		need := catalog.Available(figure.Needed([]figure.Figure{f}))
		if err := need.Validate(); err != nil {
			t.Errorf("%s: %v", f.ID, err)
		}
		if _, err := catalog.Prepare(need, topo.Kernel{}); err != nil {
			t.Errorf("%s: %v", f.ID, err)
		}
		if _, err := catalog.Prepare(need.Faster(), topo.Kernel{}); err != nil {
			t.Errorf("%s, fast: %v", f.ID, err)
		}
		if !covers(f.Study, []figure.Figure{f}) {
			t.Errorf("%s: its study does not have what it needs", f.ID)
		}
		checkFigureCells(t, f, need)
	}
}

func checkFigureCells(t *testing.T, f figure.Figure, need study.Study) {
	cells := levelsOf(need)
	if f.Chart == figure.Bars || f.Chart == figure.Dots || f.Chart == figure.Curve {
		taken := map[string]bool{}
		for _, c := range cells {
			at := strings.Join([]string{c[f.Panels], c[f.Rows], c[f.Bars], c[f.X]}, " ")
			if taken[at] {
				t.Errorf("%s: two cells at %q: panels, rows, bars and x do not show all factors", f.ID, at)
			}
			taken[at] = true
		}
	}
	for _, p := range f.Published {
		about := func(c map[string]string) bool {
			for k, ls := range p.At {
				if l, ok := c[k]; ok && !slices.Contains(ls, l) {
					return false
				}
			}
			return true
		}
		if !slices.ContainsFunc(cells, about) {
			t.Errorf("%s: published number about no cell: %v", f.ID, p.At)
		}
	}
}

// levelsOf returns the cells of a study by factor.
func levelsOf(s study.Study) (cells []map[string]string) {
	for _, c := range s.Cells(catalog.Applies) {
		m := maps.Clone(c.Levels)
		if m == nil {
			m = map[string]string{}
		}
		m[analysis.Network], m[analysis.Probe] = c.Network, c.Probe
		cells = append(cells, m)
	}
	return cells
}
