package section

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// toolRun is a synthetic run: of three tools, the third measures less on the host.
func toolRun(blocks int) *account.Account {
	r := &account.Account{Contents: account.Contents{Name: "tools", Options: analysis.Options{Baseline: "host", Networks: []string{"host", "vxlan"}, Probes: []string{"tcp-stream", "iperf3-tcp", "qperf-tcp"}}, Words: map[string]probe.Info{
		"tcp-stream": {Measures: "TCP throughput", Differs: "is warm"}, "iperf3-tcp": {Measures: "TCP throughput", Differs: "waits in select"},
		"qperf-tcp": {Measures: "TCP throughput", Differs: "has no option"}, "ping": {Measures: "ICMP echo time"}}}}
	for b := 1; b <= blocks; b++ {
		for probe, v := range map[string][2]float64{"tcp-stream": {20e9, 10e9}, "iperf3-tcp": {20.01e9, 10.01e9}, "qperf-tcp": {12e9, 10e9}} {
			for i, n := range r.Networks {
				r.Results = append(r.Results, record.Result{Trial: fmt.Sprint(b, n, probe), Block: b, Status: record.OK,
					Config: map[string]string{"network": n, "probe": probe},
					Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: v[i] * (1 + 0.01*float64(i*(b*7%5)))}}})
			}
		}
	}
	return r
}

func TestSideBySide(t *testing.T) {
	run := toolRun(12)
	var text, html, md bytes.Buffer
	if err := render.Text(&text, Report(reporttest.Analyzed(run)), 200); err != nil {
		t.Fatal(err)
	}
	if err := render.HTML(&html, Report(reporttest.Analyzed(run))); err != nil {
		t.Fatal(err)
	}
	if err := render.Markdown(&md, Report(reporttest.Analyzed(run))); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"text": text.String(), "html": html.String(), "md": md.String()} {
		got = strings.Join(strings.Fields(got), " ")
		for _, want := range []string{
			"TCP throughput by several tools: higher is better",
			"× (tcp-stream, iperf3-tcp); 0.8",
			"vxlan: the 3 tools agree within their intervals, which all contain 10",
			"iperf3-tcp: waits in select",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q: %.1000s", name, want, got[max(0, len(got)-1000):])
			}
		}
	}
	few := reporttest.Part(Report(reporttest.Analyzed(toolRun(2))), "tools")
	if few == nil || len(few.Parts[0].Notes) != 1 || !strings.HasPrefix(few.Parts[0].Notes[0], "too few blocks") {
		t.Errorf("%+v", few)
	}
	run.Words = nil
	if b := reporttest.Part(Report(reporttest.Analyzed(run)), "tools"); b != nil {
		t.Errorf("nothing is known of the tools, but there is %+v", b)
	}
}
