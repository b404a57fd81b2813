package several

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

// stepsRun is a run of a study that asks why TCP is faster than UDP: GSO triples UDP, and TCP has a tenth more.
func stepsRun(question string, factor float64) *account.Account {
	var rs []record.Result
	for block := 1; block <= 12; block++ {
		for _, network := range []string{"host", "vxlan-overlay"} {
			for i, send := range []string{"single", "mmsg", "gso", "copy"} {
				rate := 1e9 * []float64{1, 1, 3, 3.3}[i] * factor * (1 + 0.01*math.Sin(float64(block*(i+2))))
				r := record.Result{Format: record.Format, Trial: fmt.Sprint(block, network, send), Block: block, Status: record.OK,
					Config:   map[string]string{"network": network, "probe": send},
					Observed: map[string]string{"tool": "weir engine", "send": send, "recv": "mmsg", "datagram": "1398"},
					Values:   []record.Value{{Name: "throughput", Unit: "bit/s", Value: rate}}}
				if send == "copy" {
					r.Observed = map[string]string{"tool": "weir engine", "send": send, "recv": send, "mss": "1398", "streams": "1"}
				}
				rs = append(rs, r)
			}
		}
	}
	return account.Of(account.Contents{Name: "steps", Question: question, Results: rs, Options: analysis.Options{Baseline: "host", Networks: []string{"host", "vxlan-overlay"}}})
}

// Runs of a study that asks for the steps from UDP to TCP answer with them, and not with what a network costs.
func TestPooledSteps(t *testing.T) {
	of := func(question string) (answer, notes []string) {
		d := pooledDocument([]*account.Account{stepsRun(question, 1), stepsRun(question, 1.1), stepsRun(question, 0.9)})
		return lang.In(nil, d.Answer), lang.In(nil, d.Sections[0].Notes)
	}
	answer, notes := of("Why is UDP slower than TCP?")
	if len(answer) < 3 || !strings.HasPrefix(answer[0], "Over host, TCP has 3.3") || !strings.Contains(answer[0], "from shared passes through the kernel") || !strings.HasPrefix(answer[1], "Over vxlan-overlay, TCP has") {
		t.Errorf("%q", answer)
	}
	if !slices.ContainsFunc(notes, func(s string) bool { return strings.HasPrefix(s, "The intervals of each network's steps") }) {
		t.Errorf("%q", notes)
	}
	if answer, notes = of("What do these networks cost?"); strings.Contains(strings.Join(append(answer, notes...), " "), "TCP has") {
		t.Errorf("nobody asks for steps: %q", answer)
	}
}
