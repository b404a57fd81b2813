package main

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/record"
)

// The table counts the cells of busy runs that have an interval, and those that contain the truth.
func TestWriteBusy(t *testing.T) {
	run := func(ratio, others float64) *analysis.Run {
		var rs []record.Result
		for b := range 12 {
			for i, n := range []string{"host", "bridge"} {
				rs = append(rs, record.Result{Trial: fmt.Sprint(b, n), Block: b + 1, Status: record.OK, Elapsed: 1,
					Start:  time.Unix(int64(10*b+i), 0),
					Config: map[string]string{"network": n, "probe": "tcp-stream"},
					Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: math.Pow(ratio, float64(i)) * (1 + 0.01*float64((5*b+i)%7))},
						{Name: "others.user", Unit: "core", Value: others}}})
			}
		}
		return analysis.New(rs, analysis.Options{Baseline: "host"})
	}
	var b strings.Builder
	writeBusy(&b, 0.5, []*analysis.Run{run(0.80, 0), run(0.81, 0)}, []*analysis.Run{run(0.8, 0.5), run(0.5, 0.5)})
	for _, want := range []string{"| 1 | 0.81 [", "| yes | yes | disturbed |", "| 2 | 0.50 [", "| no | no | disturbed |",
		"Of 2 cells of busy runs 2 (100.0 %) have an interval. The truth is inside 1 (50.0 %)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
