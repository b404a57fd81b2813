package section

import (
	"io"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/internal/unit"
)

// A quantity of a probe and a network has one value in all tables of a document, and values and a ratio are of the same
// blocks. A table of claims judges each by itself and has no probe.
func TestOneValue(t *testing.T) {
	for name, r := range map[string]*account.Account{"run": reporttest.Run(t), "tools": toolRun(12)} {
		r = reporttest.Analyzed(r)
		one, again := map[string]float64{}, 0
		var walk func(probe string, all []doc.Section)
		walk = func(probe string, all []doc.Section) {
			for _, s := range all {
				of := probe
				if s.Probe != "" {
					of = s.Probe
				}
				for _, table := range s.Tables {
					last := ""
					for i, c := range table.Columns {
						what, of := c.Head+" in "+c.Base, of+c.Probe
						switch {
						case c.Probe != "" && c.Base == "1":
							what = "ratio of value" // an overview has a column per probe
						case c.Kind == "ratio":
							what = "ratio of " + last
						case c.Kind != "interval" && c.Head != "":
							if last = c.Head; c.Kind == "value" {
								last = "value"
							}
						}
						for _, row := range table.Rows {
							v := row.Cells[i].Value
							if of == "" || row.Network == "" || c.Base == "" || v == nil {
								continue
							}
							key := of + " " + row.Network + " " + what
							if was, ok := one[key]; ok && was != *v {
								t.Errorf("%s: %s has the values %v and %v (%s)", name, key, was, *v, table.ID)
							} else if ok {
								again++
							}
							one[key] = *v
						}
					}
				}
				walk(of, s.Parts)
			}
		}
		walk("", Report(r).Sections)
		if again == 0 {
			t.Errorf("%s: nothing stands twice", name)
		}
		sameBlocks(t, name, r)
		page := write(t, func(w io.Writer, r *account.Account) error { return render.HTML(w, Report(r)) }, r)
		for table, row := range r.Analysis.Rows() {
			if of := (source{Account: r, p: r.Analysis}).perDatagram(); of != nil && of.Probe == table.Probe && cheap(*row) &&
				!strings.Contains(page, say("CPU of a datagram: %s", unit.Format(row.Own.Value.Center, "s"))) {
				t.Errorf("%s: the picture of %s has another CPU time of a datagram than the table", name, row.Network)
			}
		}
	}
}

// sameBlocks fails unless values and the ratio of a row are of the same blocks, and its median is the same in all outputs.
func sameBlocks(t *testing.T, name string, r *account.Account) {
	rows := 0
	for table, row := range r.Analysis.Rows() {
		if row.Ratio.N == 0 || row.Baseline {
			continue
		}
		rows++
		if row.Value.N != row.Ratio.N || row.Base.N != row.Ratio.N {
			t.Errorf("%s: %s of %s: values of %d and %d blocks beside a ratio of %d", name, table.Probe, row.Network, row.Base.N, row.Value.N, row.Ratio.N)
		}
		if v, ok := row.Get(table.Metric); !ok || v.Median != row.Value.Center {
			t.Errorf("%s: %s of %s: median %v in one output, %v in another", name, table.Probe, row.Network, v.Median, row.Value.Center)
		}
	}
	if rows == 0 {
		t.Errorf("%s: no ratio was compared", name)
	}
}
