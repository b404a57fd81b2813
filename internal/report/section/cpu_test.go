package section

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// byIdle turns the CPU time of a run into that of a new program: some cores were not idle, of which
// the modes of /proc/stat saw seven eighths, and the engine's threads used half.
func byIdle(r *account.Account, change func(x *record.Result)) {
	for i, x := range r.Results {
		busy, ok := x.Get("cpu.busy")
		if !ok {
			continue
		}
		work := map[record.Quantity]float64{}
		for _, v := range x.Values {
			work[v.Name] = v.Value
		}
		add := func(q record.Quantity, unit string, v float64) {
			x.Values = append(slices.Clip(x.Values), q.Whole().Value(unit, v))
		}
		used := busy.Value * 8 / 7
		add("cpu.used", "core", used+0.01)
		add("cpu.used.baseline", "core", 0.01)
		add("cpu.accounted", "1", 0.9-0.001*float64(x.Block%3))
		for of, unit := range map[record.Quantity]string{"packet.rate": "packet", "transactions": "transaction", "throughput": "bit"} {
			if work[of] > 0 {
				add(record.Quantity("cpu.own.per."+unit), "s/"+unit, used/2/work[of])
			}
		}
		if change != nil {
			change(&x)
		}
		r.Results[i] = x
	}
}

func TestCPUColumns(t *testing.T) {
	r := reporttest.Run(t)
	byIdle(r, nil)
	md := write(t, writers["markdown"], r)
	for _, want := range []string{
		"| CPU, µs/packet | interval | CPU, ms/Gbit | interval | own CPU, µs/packet | interval | ÷ host | interval |",
		"| 1.19 | [1.10, 1.28] |", // 8/7 of the golden report's 1.04
		doc.English(byIdleMethod), doc.English(ownMethod),
	} {
		if !strings.Contains(md, want) {
			t.Errorf("the report does not contain %q:\n%.3000s", want, md)
		}
	}
	if strings.Contains(md, byModesMethod) {
		t.Error("the report describes the CPU time of old results")
	}
	const modes = "the modes of CPU time do not add up to the time of all CPUs: trust CPU cost"
	if strings.Contains(md, modes) {
		t.Error("a report without a picture of the modes says that they do not add up")
	}
	if !strings.Contains(write(t, writers["html"], r), "not its split into modes</p>") {
		t.Error("the picture of the modes does not say that they do not add up")
	}
}

// A cell that is nearly idle has no cost, and no other output has a time below 0.
func TestUnresolvedCPU(t *testing.T) {
	r := reporttest.Run(t)
	byIdle(r, func(x *record.Result) {
		x.Values = append(slices.Clip(x.Values), record.Value{Name: "window", Unit: "s", Value: 0.2})
		for i := range x.Values {
			v := &x.Values[i]
			switch {
			case x.Config["network"] == "bridge" && v.Name == "cpu.per.bit": // from an idle baseline under load
				v.Value = 1.25e-15
			case x.Config["network"] == "bridge" && v.Name == "cpu.used":
				v.Value = 0.01 + 0.001*float64(x.Block%3)
			case v.Name == "cpu.user":
				v.Value = -0.125
			}
		}
	})
	text := write(t, writers["text"], r)
	if !strings.Contains(text, " unresolved ") || !strings.Contains(strings.Join(strings.Fields(text), " "), "bridge: "+doc.English(unresolvedNote)) {
		t.Errorf("a nearly idle cell has a cost:\n%s", text)
	}
	if csv := write(t, writers["csv"], r); strings.Contains(csv, "-0.125") || strings.Contains(csv, "1.25e-15") || !strings.Contains(csv, "cpu.user,core,,below what the counters resolve,") {
		t.Error("the CSV has a negative time, or no reason for its absence")
	}
	if js := write(t, writers["json"], r); strings.Contains(js, "-0.125") || strings.Contains(js, "1.25e-15") || !strings.Contains(js, `"missing": "below what the counters resolve"`) {
		t.Error("the JSON has a negative time, or no reason for its absence")
	}
}

func TestSupportedDigits(t *testing.T) {
	for half, want := range map[float64]int{0.06: 2, 0.6: 1, 1.2: 1, 2.5: 1, 3.5: 0, 40: 0, 0.012: 3} {
		if got := prose.Supported(half); got != want {
			t.Errorf("half a width of %v: %d decimals, want %d", half, got, want)
		}
	}
	for _, half := range []float64{0, -1} {
		if got := fmt.Sprint(min(3, prose.Supported(half))); got != "3" {
			t.Errorf("%v: %s decimals", half, got)
		}
	}
}
