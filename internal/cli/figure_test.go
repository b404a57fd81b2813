package cli

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

func TestNearIDs(t *testing.T) {
	ids := []string{"thesis-1", "thesis-10", "thesis-star", "ovs-cpu", "ovs-native-ping", "kvm-ping"}
	for name, want := range map[string]string{
		"thesis-99": "thesis-1 thesis-10 thesis-star", "thesis-12": "thesis-1 thesis-10", "ovs-ping": "ovs-native-ping kvm-ping", "x": "",
	} {
		if got := strings.Join(nearIDs(ids, name), " "); got != want {
			t.Errorf("near %s: %s, want %s", name, got, want)
		}
	}
}

// The commands exist that stand in for figures without a measurement.
func TestFiguresInstead(t *testing.T) {
	shipped, err := figure.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range shipped {
		for _, one := range strings.Split(f.Instead, "; ") {
			if name, ok := strings.CutPrefix(one, "weir plan -n "); ok && catalog.Networks[name].New == nil {
				t.Errorf("%s: %s: no such network", f.ID, one)
			}
			if name, ok := strings.CutPrefix(one, "weir run "); ok && !slices.Contains(studyNames(), name) {
				t.Errorf("%s: %s: no such study", f.ID, one)
			}
		}
	}
}

// The command that continues measures and draws the same.
func TestFigureAgain(t *testing.T) {
	d := drawing{figures: []figure.Figure{{ID: "thesis-1"}}, out: "x.svg", look: figure.Look{SD: true}}
	d.dir, d.fast, d.keep = "all", true, true
	if got, want := d.again(), "weir figure --results all --fast --keep-disturbed --spread sd -o x.svg thesis-1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
