package section

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// A run with an application and the price of its path has both times beside each other, and counts what was predicted well.
func TestPredictSection(t *testing.T) {
	r := &account.Account{Contents: account.Contents{Name: "applications (synthetic)", Options: analysis.Options{Baseline: "host"},
		Words: map[string]probe.Info{"tcp-rr": {Title: "TCP request/response"}}}}
	r.Networks = []string{"host", "overlay"}
	add := func(network, name string, block int, values ...record.Value) {
		r.Results = append(r.Results, record.Result{Format: record.Format, Trial: fmt.Sprintf("b%03d-%s-%s", block, network, name), Block: block, Status: record.OK,
			Start: time.Unix(int64(len(r.Results)), 0), Elapsed: 1, Config: map[string]string{"network": network, "probe": name}, Observed: map[string]string{"size": "64"}, Values: values})
	}
	took := map[string]map[string]float64{"host": {"good": 100e-6, "bad": 100e-6}, "overlay": {"good": 110e-6, "bad": 150e-6}}
	for _, name := range []string{"good", "bad"} {
		r.Words[name] = probe.Info{Title: "Application " + name, Asks: probe.Asks{RoundTrips: 1, InFlight: 1, Bytes: 64}}
	}
	for block := 1; block <= 12; block++ {
		slow := 1 + 0.01*float64(block%5)
		for network, rtt := range map[string]float64{"host": 20e-6, "overlay": 32e-6} {
			add(network, "tcp-rr", block, record.Value{Name: record.RTT, Unit: "s", Value: rtt * slow})
			for name, s := range took[network] {
				add(network, name, block, record.Value{Name: record.Transactions, Unit: "1/s", Value: 1 / (s * slow)})
			}
		}
	}
	d := Report(reporttest.Again(r))
	if !d.Only("predictions") {
		t.Fatal("no section about predictions")
	}
	reporttest.Chinese(t, d)
	var out bytes.Buffer
	if err := render.Markdown(&out, d); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "predictions.md", out.Bytes())
}
