package analysis

import (
	"encoding/json"
	"testing"

	"github.com/weir-bench/weir/record"
)

// Runs to pool can be anyone's. A pooled run holds only numbers that can be printed.
func FuzzPool(f *testing.F) {
	for _, r := range drifting(2) {
		b, _ := json.Marshal(r)
		f.Add(string(b), "host", 3, 1.01)
	}
	f.Add(`{"asked":{"network":"","probe":""},"status":"ok","values":[{"name":"x","unit":"s","value":-0.0}]}`, "", 2, 1e150)
	f.Fuzz(func(t *testing.T, line, baseline string, runs int, factor float64) {
		var r record.Result
		if json.Unmarshal([]byte(line), &r) != nil || runs < 0 || runs > 8 {
			return
		}
		base := r
		base.Config = map[string]string{Network: baseline, Probe: r.Config[Probe]}
		var all []*Run
		for n := range runs {
			var rs []record.Result
			for block := 1; block <= 3; block++ {
				for _, of := range []record.Result{r, base} {
					of.Block, of.Values = block, nil
					for _, v := range r.Values {
						v.Value *= 1 + factor*float64(n*block)
						if !(v.Value > -1e150 && v.Value < 1e150) { // package store admits no others
							return
						}
						of.Values = append(of.Values, v)
					}
					rs = append(rs, of)
				}
			}
			all = append(all, New(rs, Options{Baseline: baseline}))
		}
		if _, err := json.Marshal(Pool(all, 0)); err != nil { // refuses NaN and Inf
			t.Error(err)
		}
	})
}
