package explain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/record"
)

// A change that breaks the network refutes what it was to prove, and the verdict says so.
func TestFixThatBreaks(t *testing.T) {
	for _, c := range []struct {
		status record.Status
		want   Outcome
		says   string
	}{
		{record.Failed, Refuted, "none of 8 trials has a value: failed: no packet of 1500 bytes came back within 5s: refuted."},
		{record.Invalid, Refuted, "none of 8 trials has a value: are invalid: no packet of 1500 bytes came back within 5s: refuted."},
		{record.Skipped, Open, "open."},
	} {
		var rs []record.Result
		for block := 1; block <= 8; block++ {
			for _, n := range []string{"slow", "fixed"} {
				r := record.Result{Trial: fmt.Sprintf("b%d-%s", block, n), Block: block, Status: record.OK, Elapsed: 1, Start: time.Unix(int64(len(rs)), 0),
					Config: map[string]string{"network": n, "probe": "tcp-stream"}, Values: []record.Value{{Name: record.Throughput, Unit: "bit/s", Value: 1e9}}}
				if n == "fixed" {
					r.Status, r.Reason, r.Values = c.status, "no packet of 1500 bytes came back within 5s", nil
				}
				rs = append(rs, r)
			}
		}
		a := analysis.New(rs, analysis.Options{Networks: []string{"slow", "fixed"},
			Contrasts: []analysis.Contrast{{Of: map[string][]string{"network": {"fixed"}}, To: map[string]string{"network": "slow"}, Value: "throughput"}}})
		s := statement(finding.Test{Fix: []plan.Step{switchOn}, Metric: record.Throughput, Factor: 1.5})
		v := Read(s, a, []finding.Finding{{Rule: s.Rule, Place: s.Place, Cells: []analysis.Cell{{Probe: "tcp-stream", Network: "slow"}}}})
		if v.Outcome != c.want || !strings.HasSuffix(v.Say().String(), c.says) {
			t.Errorf("%s: %s, %s", c.status, v.Outcome, v.Say())
		}
		if again := (Premises{Verdicts: []Verdict{v}}).verdict(s); again.Outcome != c.want {
			t.Errorf("%s, judged again: %s", c.status, again.Outcome)
		}
	}
}
