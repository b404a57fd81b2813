package section

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

var contrastWords = map[string]probe.Info{
	"tcp-stream": {Title: "TCP stream", Short: "TCP"}, "udp-stream": {Title: "UDP stream", Short: "UDP"},
	"udp-gso": {Title: "UDP with GSO", Short: "UDP with GSO"}, "ping": {Title: "Ping", Short: "ping"},
	"udp-rr": {Title: "UDP request/response", Short: "UDP response time"},
}

// A factorial is a synthetic study: every cell has a value, which drifts and spreads.
type factorial struct {
	question string
	networks []string
	probes   []string
	factors  map[string][]string
	value    func(c map[string]string) float64 // 0: the cell does not exist
	spread   float64
	blocks   int
	compare  []analysis.Contrast
}

func (f factorial) run() *account.Account {
	cells := []map[string]string{{}}
	each := func(factor string, levels []string) {
		var out []map[string]string
		for _, c := range cells {
			for _, l := range levels {
				d := maps.Clone(c)
				d[factor] = l
				out = append(out, d)
			}
		}
		cells = out
	}
	each("network", f.networks)
	each("probe", f.probes)
	for _, k := range slices.Sorted(maps.Keys(f.factors)) {
		each(k, f.factors[k])
	}
	r := &account.Account{Contents: account.Contents{Name: "synthetic", Question: f.question, Words: contrastWords,
		Options: analysis.Options{Networks: f.networks, Probes: f.probes, Contrasts: f.compare}}}
	for _, c := range f.compare {
		if r.Baseline == "" {
			r.Baseline = c.Baseline()
		}
	}
	rnd := rand.New(rand.NewPCG(uint64(len(cells)), 14))
	for block := 1; block <= f.blocks; block++ {
		drift := 1 + 0.06*math.Sin(float64(block)/2)
		for i, c := range cells {
			v := f.value(c)
			if v == 0 {
				continue
			}
			v = reporttest.Round(v * drift * math.Exp(f.spread*rnd.NormFloat64()))
			value := record.Value{Name: "throughput", Unit: "bit/s", Value: v}
			if c["probe"] == "ping" || strings.HasSuffix(c["probe"], "-rr") {
				value = record.Value{Name: "rtt", Unit: "s", Value: v}
			}
			r.Results = append(r.Results, record.Result{Format: record.Format, Trial: fmt.Sprintf("b%03d-%03d", block, i), Block: block,
				Status: record.OK, Config: c, Values: []record.Value{value}})
		}
	}
	return r
}

// The studies that the thesis and the articles ask for, in small.
var contrastRuns = map[string]factorial{
	"size": {question: "What does a datagram cost that must be split?", networks: []string{"host", "vxlan-overlay", "relay"}, probes: []string{"udp-stream"},
		factors: map[string][]string{"size": {"1400", "1422", "1423", "1472", "1473", "1600"}}, spread: 0.03, blocks: 12,
		value: func(c map[string]string) float64 {
			mtu := map[string]string{"host": "1472", "vxlan-overlay": "1422", "relay": "1427"}[c["network"]]
			v := map[string]float64{"host": 9.6e9, "vxlan-overlay": 4.5e9, "relay": 0.6e9}[c["network"]]
			if c["size"] > mtu && c["network"] != "relay" {
				return v * 0.52
			}
			return v
		},
		compare: []analysis.Contrast{
			{Of: among("size", "1473"), To: one("size", "1472"), In: among("network", "host"), Text: "a datagram one byte above the MTU"},
			{Of: among("size", "1423"), To: one("size", "1422"), In: among("network", "vxlan-overlay", "relay"), Text: "a datagram one byte above the MTU"}}},
	"offload": {question: "How much is segmentation offload worth?", networks: []string{"host", "vxlan-overlay"}, probes: []string{"tcp-stream", "udp-gso"},
		factors: map[string][]string{"offload": {"on", "off"}, "packets": {"1", "2", "4", "7"}}, spread: 0.03, blocks: 16,
		value: func(c map[string]string) float64 {
			v := map[string]float64{"host": 24e9, "vxlan-overlay": 16e9}[c["network"]]
			if c["probe"] == "udp-gso" {
				n := map[string]float64{"1": 1, "2": 1.7, "4": 2.8, "7": 4}[c["packets"]]
				if v /= 3; c["offload"] == "on" {
					return v * n
				}
				return v
			}
			if c["packets"] != "1" {
				return 0
			}
			if c["offload"] == "off" {
				return v / map[string]float64{"host": 1.9, "vxlan-overlay": 3.1}[c["network"]]
			}
			return v
		},
		compare: []analysis.Contrast{{Of: among("offload", "on"), To: one("offload", "off")},
			{Of: among("offload", "on"), To: one("offload", "off"), Per: one("network", "host")}}},
	"load": {question: "How much longer does a ping take on a busy path?", networks: []string{"host", "vxlan", "vxlan-overlay", "vm-vlan", "vm-vxlan"}, probes: []string{"ping"},
		factors: map[string][]string{"load": {"idle", "udp-rate", "tcp-stream"}}, spread: 0.05, blocks: 14,
		value: func(c map[string]string) float64 {
			v := map[string]float64{"host": 30e-6, "vxlan": 34e-6, "vxlan-overlay": 39e-6, "vm-vlan": 55e-6, "vm-vxlan": 58e-6}[c["network"]]
			by := map[string]float64{"host": 1.2, "vxlan": 1.3, "vxlan-overlay": 1.5, "vm-vlan": 2.6, "vm-vxlan": 3.1}[c["network"]]
			switch c["load"] {
			case "udp-rate":
				return v
			case "tcp-stream":
				return v * by
			}
			return v
		},
		compare: []analysis.Contrast{{Of: among("load", "tcp-stream"), To: one("load", "idle"), Text: "a ping under byte load"},
			{Of: among("load", "udp-rate"), To: one("load", "idle"), Text: "a ping under packet load"},
			{To: one("load", "idle"), Per: one("network", "host")}, {To: one("network", "host")}}},
	"direction": {question: "What does each direction cost?", networks: []string{"terway"}, probes: []string{"tcp-stream", "ping"},
		factors: map[string][]string{"ends": {"host-host", "host-shared", "host-dedicated", "shared-host", "shared-shared", "shared-dedicated",
			"dedicated-host", "dedicated-shared", "dedicated-dedicated"}}, spread: 0.03, blocks: 14,
		value: func(c map[string]string) float64 {
			by := 1 + 0.3*float64(strings.Count(c["ends"], "shared"))
			if c["probe"] == "ping" {
				return 40e-6 * by
			}
			return 20e9 / by
		},
		compare: []analysis.Contrast{
			{Of: among("ends", "host-dedicated", "dedicated-host", "dedicated-dedicated"), To: one("ends", "host-host"), Text: "a pod with its own NIC"},
			{Of: among("ends", "host-shared", "shared-host", "shared-shared", "shared-dedicated", "dedicated-shared"), To: one("ends", "host-host"),
				Text: "a pod that shares a NIC"}}},
	"shares": {question: "How much longer does a ping take under a share of the load?", networks: []string{"host", "vxlan-overlay"}, probes: []string{"ping"},
		factors: map[string][]string{"load": {"idle", "udp-rate@10%", "udp-rate@50%", "udp-rate@90%", "udp-rate", "tcp-stream@10%", "tcp-stream@50%", "tcp-stream@90%", "tcp-stream"}},
		spread:  0.04, blocks: 14,
		value: func(c map[string]string) float64 {
			v := map[string]float64{"host": 30e-6, "vxlan-overlay": 39e-6}[c["network"]]
			by := map[string]float64{"idle": 1, "udp-rate@10%": 0.7, "udp-rate@50%": 1.1, "udp-rate@90%": 1.8, "udp-rate": 9,
				"tcp-stream@10%": 0.9, "tcp-stream@50%": 1.4, "tcp-stream@90%": 2.6, "tcp-stream": 12}[c["load"]]
			if c["network"] == "vxlan-overlay" && by > 1 {
				by *= 1.3
			}
			return v * by
		},
		compare: []analysis.Contrast{{To: one("load", "idle")}, {To: one("load", "idle"), Per: one("network", "host")}}},
	"stress": {question: "How much throughput remains when others need the CPU?", networks: []string{"host", "vxlan-overlay"}, probes: []string{"tcp-stream"},
		factors: map[string][]string{"stress": {"0", "25%", "50%", "75%"}}, spread: 0.03, blocks: 14,
		value: func(c map[string]string) float64 {
			v := map[string]float64{"host": 20e9, "vxlan-overlay": 13e9}[c["network"]]
			return v * map[string]float64{"0": 1, "25%": 0.8, "50%": 0.65, "75%": 0.5}[c["stress"]]
		},
		compare: []analysis.Contrast{{To: one("stress", "0")}}},
	"tools": {question: "Do tools agree?", networks: []string{"host", "vxlan-overlay"}, probes: []string{"tcp-stream", "udp-gso", "udp-stream"}, spread: 0.03, blocks: 12,
		value: func(c map[string]string) float64 {
			return map[string]float64{"tcp-stream": 20e9, "udp-gso": 15e9, "udp-stream": 6e9}[c["probe"]]
		},
		compare: []analysis.Contrast{{Of: among("probe", "udp-gso", "udp-stream"), To: one("probe", "tcp-stream")}}},
	"tunnels": {question: "What does another tunnel cost?", networks: []string{"vxlan-overlay", "ovs-vxlan", "bridge"}, probes: []string{"tcp-stream"},
		factors: map[string][]string{"ends": {"pod-pod", "host-host"}}, spread: 0.02, blocks: 12,
		value: func(c map[string]string) float64 {
			return map[string]float64{"vxlan-overlay": 10e9, "ovs-vxlan": 8e9, "bridge": 14e9}[c["network"]]
		},
		compare: []analysis.Contrast{{To: one("network", "vxlan-overlay"), In: among("ends", "pod-pod")}}},
	"few": {question: "Two blocks.", networks: []string{"host", "bridge"}, probes: []string{"ping"}, factors: map[string][]string{"mtu": {"1500", "9000"}}, spread: 0.02, blocks: 2,
		value:   func(map[string]string) float64 { return 1e-4 },
		compare: []analysis.Contrast{{To: one("mtu", "1500")}}},
}

func among(factor string, of ...string) map[string][]string { return map[string][]string{factor: of} }
func one(factor, level string) map[string]string            { return map[string]string{factor: level} }

// compared is the part of a report that answers the stated comparisons.
func compared(f factorial) *doc.Document {
	d := Report(reporttest.Analyzed(f.run()))
	d.Title = ""
	d.Sections = slices.DeleteFunc(d.Sections, func(s doc.Section) bool {
		return s.ID != "answer" && s.ID != "reading" && !strings.HasPrefix(s.ID, "contrast") && s.ID != "summary-comparisons"
	})
	return d
}

func TestComparisons(t *testing.T) {
	for _, f := range []struct {
		name  string
		write func(io.Writer, *doc.Document) error
		of    []string
	}{
		{"contrasts.txt", func(w io.Writer, d *doc.Document) error { return render.Text(w, d, 100) }, slices.Sorted(maps.Keys(contrastRuns))},
		{"contrasts.md", render.Markdown, []string{"size", "load"}},
		{"contrasts-summary.md", render.Summary, []string{"offload", "size"}},
		{"contrasts-values.html", render.HTML, []string{"offload"}},
		{"contrasts-matrix.html", render.HTML, []string{"direction"}},
		{"contrasts-load.html", render.HTML, []string{"shares"}},
		{"contrasts-size.html", render.HTML, []string{"size"}},
	} {
		var b bytes.Buffer
		for _, name := range f.of {
			if len(f.of) > 1 {
				fmt.Fprintf(&b, "--- %s\n", name)
			}
			reporttest.Chinese(t, compared(contrastRuns[name]))
			if err := f.write(&b, compared(contrastRuns[name])); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(b.String(), "not drawn") || strings.Contains(b.String(), "othing was compared") {
			t.Errorf("%s: %s", f.name, b.String())
		}
		reporttest.Golden(t, f.name, b.Bytes())
	}
}

// Values of networks that are not compared have no column of ratios.
func TestValuesWithoutRatios(t *testing.T) {
	d := Report(reporttest.Analyzed(contrastRuns["offload"].run()))
	for _, s := range d.Sections {
		if !strings.HasPrefix(s.ID, "probe") {
			continue
		}
		for _, p := range s.Parts {
			for _, c := range p.Tables[0].Columns {
				if c.Kind == "ratio" || c.Kind == "interval" || strings.Contains(c.Head, "÷") {
					t.Errorf("%s: a column %q", p.Title, c.Head)
				}
			}
		}
	}
}

// A comparison of which nothing was measured says why.
func TestNoRatio(t *testing.T) {
	f := contrastRuns["stress"]
	value := f.value
	f.value = func(c map[string]string) float64 {
		if c["stress"] == "0" {
			return 0
		}
		return value(c)
	}
	got := compared(f).Sections[0].Lines
	if len(got) != 1 || doc.English(got[0].Text) != "stress ÷ 0: no ratio (the run did not measure its divisor)." {
		t.Errorf("%v", got)
	}
}

// Zeros leave a difference where there is no ratio.
func TestDifferenceWithoutRatio(t *testing.T) {
	r := contrasted{ContrastRow: analysis.ContrastRow{Cell: analysis.Cell{Probe: "ping", Network: "host"}, Metric: "loss", Unit: "1",
		Difference: stat.Interval{Center: 0.03, Lo: 0.021, Hi: 0.039, N: 12, Confidence: 0.95}}, by: &analysis.Contrast{To: one("load", "idle")}}
	c := comparison{text: "a busy path", of: []analysis.Contrast{*r.by}, rows: []contrasted{r}}
	if got := doc.English(say("%s.", clausesOf(nil, c)[0])); got != "a busy path has loss, 3.00 % more [2.10, 3.90]." {
		t.Error(got)
	}
}

// A row without a ratio shows a difference: among many, it is not one of those that show none.
func TestManyWithoutRatio(t *testing.T) {
	by := &analysis.Contrast{To: one("load", "idle")}
	row := func(network string, ratio float64, same bool) contrasted {
		r := contrasted{ContrastRow: analysis.ContrastRow{Cell: analysis.Cell{Probe: "ping", Network: network}, Metric: "loss", Unit: "1", Same: same,
			Difference: stat.Interval{Center: 0.03, Lo: 0.021, Hi: 0.039, N: 12, Confidence: 0.95}}, by: by}
		if ratio > 0 {
			r.Ratio = stat.Interval{Center: ratio, Lo: 0.9 * ratio, Hi: 1.1 * ratio, N: 12, Confidence: 0.95}
		}
		return r
	}
	c := comparison{text: "a busy path", of: []analysis.Contrast{*by}, many: true,
		rows: []contrasted{row("a", 2, false), row("b", 3, false), row("c", 1, true), row("d", 0, false), row("e", 0, false)}}
	want := "a busy path has 2.00 times [1.80, 2.20] (a) to 3.00 times [2.70, 3.30] the loss (b), no difference shown under 1 of 5 conditions, without a ratio under 2 of 5."
	if got := doc.English(say("%s.", clausesOf(nil, c)[0])); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for i := range c.rows {
		c.rows[i].Ratio, c.rows[i].Same = stat.Interval{}, false
	}
	want = "a busy path has loss, 3.00 % more [2.10, 3.90] (a) to loss, 3.00 % more [2.10, 3.90] (a)."
	if got := doc.English(say("%s.", clausesOf(nil, c)[0])); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Two levels of a number are the ends of a line for each network, and no level has a chart with one dot for each.
func TestTwoLevels(t *testing.T) {
	d := Report(reporttest.Analyzed(contrastRuns["few"].run())).In(nil)
	lines := 0
	var look func(s doc.Section)
	look = func(s doc.Section) {
		for _, f := range s.Figures {
			switch c := f.Chart.(type) {
			case chart.Sweep:
				lines++
				for _, k := range c.Curves {
					if len(k.Points) != 2 || k.Points[0].X != 1500 || k.Points[1].X != 9000 {
						t.Errorf("%s: %s has the points %v", f.ID, k.Name, k.Points)
					}
				}
			case chart.Ratios, chart.Values:
				if strings.HasPrefix(s.ID, "probe-") {
					t.Errorf("%s is a chart of one level", f.ID)
				}
			}
		}
		for _, p := range s.Parts {
			look(p)
		}
	}
	for _, s := range d.Sections {
		look(s)
	}
	if lines != 2 { // of the comparison, and of the probe
		t.Errorf("%d charts with lines: want 2", lines)
	}
}

// A difference in seconds stands beside its ratio only if both say that there is one.
func TestMore(t *testing.T) {
	of := func(lo, hi float64) contrasted {
		i := stat.Interval{Center: 124e-6, Lo: lo, Hi: hi, N: 14, Confidence: 0.95}
		return contrasted{ContrastRow: analysis.ContrastRow{Metric: "rtt", Unit: "s", Ratio: stat.Interval{Center: 1.15, Lo: 1.03, Hi: 1.29, N: 14, Confidence: 0.95}, Difference: i}}
	}
	if got := lang.Text(more(of(-5e-6, 254e-6))).String(); got != "" {
		t.Errorf("%q, want nothing", got)
	}
	if got := lang.Text(more(of(20e-6, 254e-6))).String(); got != "124 µs more [20, 254]" {
		t.Errorf("%q", got)
	}
}
