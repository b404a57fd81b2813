package section

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/costmodel"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// costRun is a synthetic run that takes an overlay apart. The cost of a datagram is pass + 0.29 ns per byte.
func costRun(pass map[string]float64, levels ...string) *account.Account {
	rnd := rand.New(rand.NewPCG(45, 1))
	r := &account.Account{Contents: account.Contents{Name: "overlay-cost (synthetic)", Options: analysis.Options{Baseline: "host"}, Words: map[string]probe.Info{}}}
	if levels == nil {
		levels = []string{""}
	}
	r.Networks = []string{"host", "bridge", "vxlan", "vxlan-overlay", "bridged"}
	for block := 1; block <= 16; block++ {
		for _, network := range r.Networks {
			for _, level := range levels {
				own, ok := pass[network+level]
				for _, size := range []float64{18, 200, 700, 1000, 1398} {
					if !ok || level != "" && size != 1398 {
						continue
					}
					name := fmt.Sprintf("udp-%g", size)
					r.Words[name] = probe.Info{Title: fmt.Sprintf("UDP, %g bytes", size), Short: name}
					cost := (own + 0.29e-9*size) * math.Exp(0.02*rnd.NormFloat64())
					rate := 0.99 / cost
					x := record.Result{Format: record.Format, Trial: fmt.Sprintf("b%03d-%s%s-%s", block, network, level, name), Block: block, Status: record.OK,
						Start: time.Unix(int64(len(r.Results)), 0), Elapsed: 1, Config: map[string]string{"network": network, "probe": name},
						Observed: map[string]string{"size": fmt.Sprint(size), "send": "single", "batch": "1", "recv": "mmsg", "path.mtu": "1500"}}
					if level != "" {
						x.Config["bridge-nf"] = level
					}
					for _, v := range []record.Value{{Name: "throughput", Unit: "bit/s", Value: rate * size * 8}, {Name: "sent", Unit: "packet/s", Value: rate},
						{Name: "delivered", Unit: "packet/s", Value: rate}, {Name: "window", Unit: "s", Value: 1}, record.CPUOwn.At("client").Value("core", 0.99),
						record.CPUOwn.At("server").Value("core", rate*(0.5e-6+0.1e-9*size)), record.CPUThread.Thread("h1", sample.EngineClient, "").Value("core", 0.99),
						record.CPUThread.Thread("h2", sample.EngineServer, "").Value("core", rate*(0.5e-6+0.1e-9*size))} {
						x.Values = append(x.Values, v.Key().Value(v.Unit, reporttest.Round(v.Value)))
					}
					r.Results = append(r.Results, x)
				}
			}
		}
	}
	r = reporttest.Again(r)
	return r
}

func costsOf(t *testing.T, r *account.Account) []byte {
	t.Helper()
	d := Report(r)
	if !d.Only("costs") {
		t.Fatal("no section about costs")
	}
	reporttest.Chinese(t, d)
	var b bytes.Buffer
	if err := render.Markdown(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var passCosts = map[string]float64{"host": 3.0e-6, "bridge": 4.2e-6, "vxlan": 4.6e-6, "vxlan-overlay": 7.0e-6, "bridged": 5.4e-6}

func TestCosts(t *testing.T) {
	reporttest.Golden(t, "costs.md", costsOf(t, costRun(passCosts)))
}

func TestCostsOfHooks(t *testing.T) {
	reporttest.Golden(t, "costs-hook.md", costsOf(t, costRun(map[string]float64{"hostoff": 3.0e-6, "hoston": 3.0e-6, "bridgeoff": 4.2e-6, "bridgeon": 4.8e-6,
		"vxlan-overlayoff": 7.0e-6, "vxlan-overlayon": 8.3e-6}, "off", "on")))
}

// A path that is not the sum of its segments has no bound, and one that bridged refutes says so.
func TestCostsThatContradict(t *testing.T) {
	with := func(network string, v float64) map[string]float64 {
		other := map[string]float64{}
		for n, c := range passCosts {
			other[n] = c
		}
		other[network] = v
		return other
	}
	if text := string(costsOf(t, costRun(with("vxlan-overlay", 9e-6)))); !strings.Contains(text, "No bound: the sum of the segments is not the measured path") || strings.Contains(text, "Free encapsulation would give") {
		t.Errorf("a bound without a sum:\n%s", text)
	}
	if text := string(costsOf(t, costRun(with("bridged", 3e-6)))); !strings.Contains(text, "Refuted.") {
		t.Errorf("not refuted:\n%s", text)
	}
}

// A run whose models are all refused has a report.
func TestCostsOfRefusedModels(t *testing.T) {
	r := costRun(passCosts)
	r.Results = slices.DeleteFunc(r.Results, func(x record.Result) bool { return x.Block > 2 }) // too few for intervals
	r = reporttest.Again(r)
	models := costmodel.Fit(r.Analysis)
	if len(models) == 0 || slices.ContainsFunc(models, func(m costmodel.Model) bool { return m.Refused == "" }) {
		t.Fatalf("want models, all refused: %+v", models)
	}
	if parts := modelParts(models, nil, "host"); parts != nil {
		t.Errorf("parts of refused models: %+v", parts)
	}
}

// Runs without the clocks of the engine's threads have no section about costs.
func TestNoCosts(t *testing.T) {
	r := reporttest.Run(t)
	r = reporttest.Again(r)
	if Report(r).Only("costs") {
		t.Error("costs without a clock")
	}
}
