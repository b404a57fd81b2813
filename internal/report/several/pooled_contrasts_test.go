package several

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// underLoad returns three runs of a study that compares loads: the response time under load is twice
// that without, and 10 % more on the overlay.
func underLoad(t *testing.T, contrasts ...analysis.Contrast) (runs []*account.Account) {
	t.Helper()
	for i := range 3 {
		r := reporttest.Run(t)
		r.Problems, r.Claims, r.Baseline = nil, nil, ""
		r.Contrasts = contrasts
		var all []record.Result
		for _, x := range r.Results {
			if x.Config["probe"] != "udp-rr" {
				continue
			}
			for load, factor := range map[string]float64{"idle": 1, "tcp-stream": 2 + 0.01*float64(i+x.Block%2)} {
				y := x
				y.Trial += load
				y.Config = map[string]string{"network": x.Config["network"], "probe": "udp-rr", "load": load}
				if load != "idle" && x.Config["network"] == "vxlan-overlay" {
					factor *= 1.1
				}
				y.Values = nil
				for _, v := range x.Values {
					v.Value *= factor
					y.Values = append(y.Values, v)
				}
				all = append(all, y)
			}
		}
		r.Results, r.Dir = all, "00"+string(rune('1'+i))
		r = reporttest.Again(r)
		runs = append(runs, r)
	}
	return runs
}

func TestPooledContrasts(t *testing.T) {
	runs := underLoad(t, analysis.Contrast{To: map[string]string{"load": "idle"}, Text: "a busy path"},
		analysis.Contrast{To: map[string]string{"load": "idle"}, Per: map[string]string{"network": "host"}, In: map[string][]string{"network": {"vxlan-overlay"}}})
	var b bytes.Buffer
	d := pooledDocument(runs)
	if err := render.Text(&b, d, 200); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{"A busy path takes 101 %", "122 % [111, 133] (vxlan-overlay) (3 runs over", "load ÷ idle is 1.10× [1.05, 1.16] as large on vxlan-overlay as on host (UDP response time) (3 runs",
		"host, UDP response time, load tcp-stream ÷ idle 2.01", "vxlan-overlay, UDP response time, load tcp-stream ÷ idle, per network host 1.10",
		"Each run divides every block by the cell after ÷ of the same block"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(got, "÷ interval") || strings.Contains(got, "Nothing was compared") {
		t.Errorf("a baseline, where there is none:\n%s", b.String())
	}
	b.Reset()
	if err := render.HTML(&b, d); err != nil || !strings.Contains(b.String(), "<svg") || strings.Contains(b.String(), "not drawn") {
		t.Errorf("%v", err)
	}
}

func TestCompareContrasts(t *testing.T) {
	idle := analysis.Contrast{To: map[string]string{"load": "idle"}}
	var a, b []*analysis.Run
	for _, r := range underLoad(t, idle) {
		a = append(a, r.Analysis)
	}
	for _, r := range underLoad(t, idle) {
		for i := range r.Results {
			if x := &r.Results[i]; x.Config["load"] != "idle" && len(x.Values) > 0 {
				x.Values[0].Value *= 1.3
			}
		}
		r = reporttest.Again(r)
		b = append(b, r.Analysis)
	}
	c := analysis.Compare(a, b, 0.05)
	got := strings.Join(strings.Fields(string(text(t, c))), " ")
	for _, want := range []string{"What the studies compare", "A and B are ratios of the levels around ÷ in the same run.", "host, udp-rr, load tcp-stream ÷ idle 2.01", "WORSE"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if len(c.Changes) != 3 || !c.Worse() {
		t.Errorf("%+v", c.Changes)
	}
}
