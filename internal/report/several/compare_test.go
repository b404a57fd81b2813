package several

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// variant returns the fixture with every value multiplied.
func variant(t *testing.T, factor func(network, probe string) float64) *analysis.Run {
	r := reporttest.Run(t)
	for i, x := range r.Results {
		if len(x.Values) > 0 {
			x.Values = slices.Clone(x.Values)
			x.Values[0].Value *= factor(x.Config["network"], x.Config["probe"])
			r.Results[i] = x
		}
	}
	return reporttest.Analyzed(r).Analysis
}

// group returns runs of a machine whose speed drifts by 20 % a run, and whose bridge differs by 4 %
// between runs.
func group(t *testing.T, from int, change func(network, probe string) float64) (out []*analysis.Run) {
	for k := range 4 {
		out = append(out, variant(t, func(network, probe string) float64 {
			f := 1 + 0.2*float64(from+k)
			if network == "bridge" {
				f *= []float64{1, 1.04, 0.97, 1.01, 0.98, 1.03}[(from+k)%6]
			}
			return f * change(network, probe)
		}))
	}
	return out
}

func unchanged(string, string) float64 { return 1 }

func TestCompare(t *testing.T) {
	a := group(t, 0, unchanged)
	b := group(t, 3, func(network, probe string) float64 {
		if network == "bridge" && (probe == "tcp-stream" || probe == "udp-rr") {
			return 0.6
		}
		return 1
	})
	for i, r := range b { // one cell is in A only
		var rs []record.Result
		for x := range r.Results() {
			if x.Config["network"] != "vxlan-overlay" || x.Config["probe"] != "udp-rate" {
				rs = append(rs, *x)
			}
		}
		b[i] = analysis.New(rs, reporttest.Run(t).Options)
	}
	c := analysis.Compare(a, b, 0.05)
	for _, x := range c.Changes {
		if x.Worse != (x.String() == "bridge, tcp-stream") || x.Better != (x.String() == "bridge, udp-rr") {
			t.Errorf("%s: worse %v, better %v", x, x.Worse, x.Better)
		}
	}
	c.Differ = []facts.Difference{
		{Key: "local.kernel", Values: []string{"6.12.9", "6.12.9", "6.12.9", "6.12.9", "6.18.1", "6.18.1", "6.18.1", "6.18.1"}},
		{Key: "local.sysctls.net.ipv4.tcp_congestion_control", Values: []string{"cubic", "cubic", "cubic", "bbr", "", "", "", ""}},
	}
	reporttest.Golden(t, "compare.txt", text(t, c))
	var md bytes.Buffer
	if err := render.Markdown(&md, Comparison(c)); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "compare.md", md.Bytes())
}

func text(t *testing.T, c analysis.Comparison) []byte {
	t.Helper()
	var b bytes.Buffer
	reporttest.Chinese(t, Comparison(c))
	if err := render.Text(&b, Comparison(c), 100); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCompareOneRunASide(t *testing.T) {
	a := variant(t, unchanged)
	b := variant(t, func(network, probe string) float64 {
		if network == "bridge" {
			return 0.5
		}
		return 1
	})
	sides := [2][]*analysis.Run{{a}, {b}}
	c := analysis.Compare(sides[0], sides[1], 0)
	reporttest.Golden(t, "compare-one.txt", text(t, c))
	if c.Worse() {
		t.Error("one run a side cannot tell")
	}
	b.Learn(func(t *analysis.Table, _ *analysis.Row) (analysis.Spread, bool) {
		return analysis.Spread{Tau: 0.05, Runs: 10}, t.Probe == "tcp-stream"
	}, nil)
	known := analysis.Compare(sides[0], sides[1], 0)
	for _, want := range []string{"WORSE", "cannot tell", "earlier runs on this machine, taken to be 5 % or more, judges 2 of 8 cells"} {
		if s := strings.Join(strings.Fields(string(text(t, known))), " "); !strings.Contains(s, want) {
			t.Errorf("with a known spread, no %q:\n%s", want, s)
		}
	}

	other := reporttest.Run(t)
	other.Baseline = "bridge"
	for want, b := range map[string]*analysis.Run{
		"share no cell":                     account.Of(account.Contents{}).Analysis,
		"no common baseline (host, bridge)": reporttest.Analyzed(other).Analysis,
	} {
		if s := string(text(t, analysis.Compare(sides[0], []*analysis.Run{b}, 0))); !strings.Contains(s, want) || strings.Contains(s, "WORSE") {
			t.Errorf("no %q:\n%s", want, s)
		}
	}
}
