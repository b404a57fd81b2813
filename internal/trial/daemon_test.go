package trial

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

// dies returns a check that reports a dead service at its nth call.
func dies(n int) func(context.Context, []plan.State) error {
	return func(context.Context, []plan.State) error {
		if n--; n == 0 {
			return fmt.Errorf("%w: its last words", target.ErrService)
		}
		return nil
	}
}

// Daemons' CPU time is stored by name, summed over both ends, and the result describes the network.
func TestDaemons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _, _ := setup()
		for _, in := range []string{"h1", "h2"} {
			s.Plan.Steps = append(s.Plan.Steps, plan.Step{In: in, Service: &plan.Service{Name: "relayd"}})
		}
		s.Site.Found = map[string]string{"relayd.version": "relayd 1.2"}
		start(t, &s)
		r, err := Run(t.Context(), s)
		if err != nil || r.Status != record.OK {
			t.Fatalf("%s %s, %v", r.Status, r.Reason, err)
		}
		// The client's node spent 30 ticks of 10 ms in a window of 1 s.
		for key, want := range map[record.Key]float64{record.CPUProgram.Thread("", "relayd", ""): 0.3, record.CPUProgram.Thread("", "relayd", "worker"): 0.3} {
			if got, ok := r.Value(key); !ok || got.Unit != "core" || math.Abs(got.Value-want) > 1e-9 {
				t.Errorf("%s = %+v, want %v", key, got, want)
			}
		}
		if _, ok := r.Value(record.CPUProgram.Thread("", "relayd", "idler")); ok {
			t.Error("a thread that did not run has a value")
		}
		if got := r.Observed["relayd.version"]; got != "relayd 1.2" {
			t.Errorf("found %q", got)
		}
	})
}
