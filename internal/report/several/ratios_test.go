package several

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/internal/report/section"
)

// The CSV has every ratio of a run once, and the reason for those that are missing.
func TestRatios(t *testing.T) {
	plain := reporttest.Run(t)
	plain = reporttest.Again(plain)
	stated := underLoad(t, analysis.Contrast{To: map[string]string{"load": "idle"}}, analysis.Contrast{To: map[string]string{"load": "idle"}, Value: "jitter"})
	ratios := func(r *analysis.Run) (n int) {
		for range r.Ratios() {
			n++
		}
		return n
	}
	for name, c := range map[string]struct {
		d                *doc.Document
		ratios, missing  int
		compared, factor string
	}{
		"networks": {section.Report(plain), ratios(plain.Analysis), 0, "network vxlan-overlay ÷ host", ""},
		"stated":   {section.Report(stated[0]), ratios(stated[0].Analysis), 3, "load tcp-stream ÷ idle", "tcp-stream"},
		"pooled":   {pooledDocument(stated), 6, 0, "load tcp-stream ÷ idle", "tcp-stream"},
	} {
		var b bytes.Buffer
		if err := render.Ratios(&b, c.d); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(lines) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		at := func(line []string, head string) string {
			if i := slices.Index(lines[0], head); i >= 0 {
				return line[i]
			}
			return ""
		}
		var n, missing int
		found := false
		for _, l := range lines[1:] {
			if at(l, "missing") != "" {
				missing++
			} else if v, err := strconv.ParseFloat(at(l, "ratio"), 64); err != nil || v <= 0 {
				t.Errorf("%s: %v", name, l)
			} else {
				n++
				if (at(l, "lo") == "") != (at(l, "interval.missing") != "") {
					t.Errorf("%s: neither an interval nor why there is none: %v", name, l)
				}
			}
			found = found || at(l, "compared") == c.compared && at(l, "asked.load") == c.factor && at(l, "network") == "vxlan-overlay"
		}
		if n != c.ratios || missing != c.missing || !found {
			t.Errorf("%s: %d ratios and %d missing, want %d and %d; %s found: %v\n%v", name, n, missing, c.ratios, c.missing, c.compared, found, lines)
		}
	}
	if err := render.Ratios(&bytes.Buffer{}, &doc.Document{}); err == nil {
		t.Error("a document without an analysis has ratios")
	}
}
