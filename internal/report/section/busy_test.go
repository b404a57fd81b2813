package section

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// disturb makes others use the machine during all trials, whose threads read their own clocks.
func disturb(r *account.Account) {
	for i := range r.Results {
		x := &r.Results[i]
		values := append(slices.Clip(x.Values), record.Value{Name: "others.user", Unit: "core", Value: 0.9}, record.Value{Name: "cpus", Unit: "core", Value: 2})
		if x.Elapsed = 1; x.Config["probe"] == "udp-stream" {
			cost := map[string]float64{"host": 1e-6, "bridge": 1.4e-6, "vxlan-overlay": 2.3e-6}[x.Config["network"]]
			values = append(values, record.Value{Name: "delivered", Unit: "1", Value: 1},
				record.Value{Name: "cpu.own.per.packet", Unit: "s/packet", Value: cost * (1 + 0.001*float64(x.Block%4))})
		}
		x.Values = values
	}
	r.Others = &analysis.Others{}
	r.Others.Add(100, analysis.Program{PID: 4242, Name: "firefox", CPU: 61})
}

// A run on a busy machine answers, says that it was busy first, and has what other programs do not change.
func TestBusy(t *testing.T) {
	r := reporttest.Run(t)
	disturb(r)
	for name, f := range writers {
		if name == "csv" {
			continue
		}
		text := strings.Join(strings.Fields(write(t, f, r)), " ")
		if strings.Contains(text, "no verdict") || !strings.Contains(text, "CPU time per packet (UDP") {
			t.Errorf("%s does not have the CPU time:\n%.3000s", name, text)
		}
	}
	text := strings.Join(strings.Fields(write(t, writers["text"], r)), " ")
	last := -1
	for _, want := range []string{
		"! Busy machine: 141 of 144 trials disturbed",
		"Compared with the host network, a VXLAN overlay keeps 65 %",
		"most CPU time went to firefox (pid 4242) 0.61 core",
		"The machine was busy (others used 0.9 of 2 cores): ratios of throughput and response time are wide",
		"vxlan-overlay: CPU time per packet (UDP) 2.300× of host [2.300",
		"disturbed: others used 0.9 of 2 cores, and all trials count",
	} {
		at := strings.Index(text, want)
		if at <= last {
			t.Errorf("%q is at %d, after %d:\n%.3000s", want, at, last, text)
		}
		last = max(last, at)
	}
}

// A mark that every ratio has says nothing in a table of ratios; the warning before the answer says it.
func TestMarkOfAll(t *testing.T) {
	r := reporttest.Run(t)
	disturb(r)
	table, _ := newSource(reporttest.Analyzed(r)).overview()
	if text := fmt.Sprint(table.Rows); strings.Contains(text, "disturbed") {
		t.Error(text)
	}
}
