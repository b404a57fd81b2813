package analysis

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weir-bench/weir/record"
)

// trialsOf returns ok trials on two networks; the second measures factor times the first.
func trialsOf(probe, datagram string, value, factor float64) (rs []record.Result) {
	for block := 1; block <= 12; block++ {
		for network, v := range map[string]float64{"host": value, "vxlan": value * factor} {
			rs = append(rs, record.Result{
				Trial: fmt.Sprintf("%d-%s-%s", block, network, probe), Block: block, Status: record.OK,
				Config:   map[string]string{"network": network, "probe": probe},
				Observed: map[string]string{"datagram": datagram},
				Values:   []record.Value{{Name: "throughput", Unit: "bit/s", Value: v * (1 + 0.001*float64(block%5))}},
			})
		}
	}
	return rs
}

func TestAgreements(t *testing.T) {
	var rs []record.Result
	rs = append(rs, trialsOf("native", "1400", 100, 0.5)...)
	rs = append(rs, trialsOf("iperf", "1400", 100.1, 0.5)...)
	rs = append(rs, trialsOf("qperf", "1400", 50, 0.8)...)
	rs = append(rs, trialsOf("small", "18", 50, 0.8)...)   // no counterpart
	rs = append(rs, trialsOf("other", "1400", 50, 0.8)...) // measures something else
	p := New(rs, Options{Baseline: "host", Probes: []string{"native", "iperf", "qperf"}})
	as := p.Agreements(map[string]string{"native": "UDP", "iperf": "UDP", "qperf": "UDP", "small": "UDP", "other": "TCP"})
	if len(as) != 1 || as[0].Measures != "UDP" || as[0].Datagram != "1400" || len(as[0].Tables) != 3 {
		t.Fatalf("%+v", as)
	}
	a := as[0]
	if len(a.Values) != 2 || len(a.Ratios) != 1 || a.Ratios[0].Network != "vxlan" {
		t.Fatalf("values %+v, ratios %+v", a.Values, a.Ratios)
	}
	if got := names(a.Values[0]); got != "[[qperf] [native iperf]]" {
		t.Errorf("values on %s: %s", a.Values[0].Network, got)
	}
	if got := names(a.Ratios[0]); got != "[[native iperf] [qperf]]" {
		t.Errorf("ratios on %s: %s", a.Ratios[0].Network, got)
	}
	for _, table := range a.Tables {
		r, _ := table.Row("vxlan")
		for _, camp := range a.Ratios[0].Clusters {
			if slices.Contains(camp.Probes, table.Probe) && !(r.Ratio.Contains(camp.Lo) && r.Ratio.Contains(camp.Hi)) {
				t.Errorf("%s has %+v, which does not hold %v to %v", table.Probe, r.Ratio, camp.Lo, camp.Hi)
			}
		}
	}
}

func names(c Clusters) string {
	var list [][]string
	for _, camp := range c.Clusters {
		list = append(list, camp.Probes)
	}
	return fmt.Sprint(list)
}

func TestAgreementsTooFewBlocks(t *testing.T) {
	rs := append(trialsOf("a", "", 1, 0.5)[:2], trialsOf("b", "", 1, 0.5)[:2]...)
	as := New(rs, Options{Baseline: "host"}).Agreements(map[string]string{"a": "TCP", "b": "TCP"})
	if len(as) != 1 || as[0].Values != nil || as[0].Ratios != nil {
		t.Errorf("%+v", as)
	}
}

// Several options of one tool are not several tools.
func TestAgreementsOfOneTool(t *testing.T) {
	for _, tc := range []struct {
		tools []string
		want  int
	}{{[]string{"weir", "weir"}, 0}, {[]string{"weir", "iperf"}, 1}, {[]string{"weir", ""}, 1}} {
		var rs []record.Result
		for i, tool := range tc.tools {
			for _, r := range trialsOf(fmt.Sprint("probe", i), "1400", 100, 0.5) {
				if tool != "" {
					r.Observed["tool"] = tool
				}
				rs = append(rs, r)
			}
		}
		p := New(rs, Options{Baseline: "host"})
		if as := p.Agreements(map[string]string{"probe0": "UDP", "probe1": "UDP"}); len(as) != tc.want {
			t.Errorf("%v: %d groups, want %d", tc.tools, len(as), tc.want)
		}
	}
}
