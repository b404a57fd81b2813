package lab

import (
	"errors"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// An event can end, stop and start a service. One that it ended is not missed; one that ends by itself is.
func TestDaemon(t *testing.T) {
	s, _ := openLogs(t, "h1")
	service := plan.Step{In: "h1", Service: &plan.Service{Name: "switch", Argv: weirDaemon("touch=ready", "hang"), Ready: plan.Ready{File: plan.Dir + "/ready"}}}
	if err := s.Apply(t.Context(), []plan.Step{service}); err != nil {
		t.Fatal(err)
	}
	do := func(what string) error {
		return s.Apply(t.Context(), []plan.Step{{In: "h1", Daemon: &plan.Daemon{Name: "switch", Do: what}}})
	}
	for _, what := range []string{plan.Stop, plan.Continue, plan.Kill, plan.Start, plan.Terminate, plan.Start, plan.Stop} {
		if err := errors.Join(do(what), s.Verify(t.Context(), nil)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	if err := do("reboot"); err == nil || !strings.Contains(err.Error(), `cannot "reboot": want kill`) {
		t.Errorf("reboot: %v", err)
	}
	none := plan.Step{In: "h1", Daemon: &plan.Daemon{Name: "router", Do: plan.Kill}}
	if err := s.Apply(t.Context(), []plan.Step{none}); err == nil || !strings.Contains(err.Error(), `no service "router" runs in h1 (those that do: switch)`) {
		t.Errorf("a service that is not there: %v", err)
	}
	short := plan.Step{In: "h1", Service: &plan.Service{Name: "short", Argv: weirDaemon("say=ready", "exit"), Ready: plan.Ready{Line: "never"}}}
	if err := s.Apply(t.Context(), []plan.Step{short}); !errors.Is(err, target.ErrService) {
		t.Errorf("a service that ended by itself: %v", err)
	}
}
