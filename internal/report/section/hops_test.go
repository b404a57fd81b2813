package section

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// chainRun is a synthetic run on a line of four hosts.
func chainRun(t *testing.T) *account.Account {
	t.Helper()
	rnd := rand.New(rand.NewPCG(20240607, 3))
	r := &account.Account{Contents: account.Contents{Name: "line (synthetic)", Words: reporttest.Words, Options: analysis.Options{Baseline: "kernel",
		Networks: []string{"kernel", "relay"}, Probes: []string{"tcp-stream", "udp-rr", "netperf-udp-rr"}}}}
	for block := 1; block <= 12; block++ {
		for _, network := range r.Networks {
			for _, way := range [][2]int{{1, 2}, {1, 3}, {1, 4}, {2, 3}, {3, 4}} {
				var hosts []string
				for h := way[0]; h <= way[1]; h++ {
					hosts = append(hosts, fmt.Sprintf("h%d", h))
				}
				segments := float64(len(hosts) - 1)
				for _, probe := range []string{"udp-rr", "netperf-udp-rr", "tcp-stream"} {
					v := (20e-6 + 9e-6*segments) * (1 + 0.05*rnd.Float64())
					if network == "relay" {
						v *= 4
					}
					x := record.Result{Trial: fmt.Sprintf("%03d-%s-%s-%d-%d", block, network, probe, way[0], way[1]), Block: block, Status: record.OK,
						Config:   map[string]string{"network": network, "probe": probe, "ends": fmt.Sprintf("pod%d-pod%d", way[0], way[1])},
						Observed: map[string]string{"path.hosts": strings.Join(hosts, " ")}}
					switch probe {
					case "udp-rr":
						h := hdrhistogram.New(1, int64(60e9), 3)
						for range 100 {
							_ = h.RecordValue(int64(v * 1e9 * (0.9 + 0.3*rnd.Float64())))
						}
						b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
						if err != nil {
							t.Fatal(err)
						}
						x.Values = []record.Value{{Name: "rtt", Unit: "s", Value: v, Hist: string(b)}}
					case "netperf-udp-rr":
						x.Values = []record.Value{{Name: "rtt", Unit: "s", Value: v}}
					default:
						x.Values = []record.Value{{Name: "throughput", Unit: "bit/s", Value: 1e6 / v / segments}}
					}
					r.Results = append(r.Results, x)
				}
			}
		}
	}
	return r
}

// A run on a line of hosts has a table and a chart by number of segments.
func TestChains(t *testing.T) {
	for name, of := range map[string]struct{ whole, from, to string }{
		"chain.txt":  {write(t, writers["text"], chainRun(t)), "\nOver several hops", "\n× is"},
		"chain.md":   {write(t, writers["markdown"], chainRun(t)), "\n## Over several hops", "\n## Method"},
		"chain.html": {write(t, writers["html"], chainRun(t)), `<section id="hops">`, "</section>"},
	} {
		i := strings.Index(of.whole, of.from)
		n := strings.Index(of.whole[max(i, 0):], of.to)
		if i < 0 || n < 0 {
			t.Fatalf("%s: no chain in\n%s", name, of.whole)
		}
		reporttest.Golden(t, name, []byte(of.whole[i:i+n]))
	}
	for name, f := range writers {
		if s := write(t, f, reporttest.Run(t)); strings.Contains(s, "hop") {
			t.Errorf("%s: hops in a run without a line", name)
		}
	}
}
