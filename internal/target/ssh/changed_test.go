package ssh

import (
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/topo"
)

// An event changes a device that its user has named, and no other. The machine makes it what it was, when it is told and when the
// connection is lost.
func changed(t *testing.T) {
	opened := func() (*Target, *target.Site) {
		tg := open(t, "a", "b")
		if err := tg.Allow([]string{"vx0@b", "eth0@b"}); err != nil {
			t.Fatal(err)
		}
		site, err := tg.Open(t.Context(), two(topo.Find{}), "")
		if err != nil {
			t.Fatal(err)
		}
		return tg, site
	}
	show := func(site *target.Site) string {
		var out strings.Builder
		if err := site.Nodes["b"].Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", "ip -br addr show dev vx0; ip link show dev vx0 up; ip route"}, Stdout: &out}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	down := plan.Step{In: "b", Set: &plan.Set{Dev: "vx0", Down: true}}
	tg, site := opened()
	before := show(site)
	for want, step := range map[string]plan.Step{
		"add --allow vx0@a to weir run": {In: "a", Set: down.Set},
		"ssh reaches b over eth0":       {In: "b", Set: &plan.Set{Dev: "eth0", Down: true}},
		"or drop only what others than": {In: "b", Drop: &plan.Drop{Dev: "eth0"}},
		"without it, nothing would":     {In: "b", Drop: &plan.Drop{Dev: "eth0", With: netip.PrefixFrom(tg.machines[1].caller, 24)}},
	} {
		if err := site.Apply(t.Context(), []plan.Step{step}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := tg.Allow([]string{"vx0@c"}); err == nil || !strings.Contains(err.Error(), "DEVICE@MACHINE") {
		t.Errorf("a machine that is not there: %v", err)
	}
	other := plan.Step{In: "b", Drop: &plan.Drop{Dev: "eth0", With: netip.MustParsePrefix("203.0.113.0/24")}}
	if err := tg.Allows(other); err != nil {
		t.Errorf("to drop what is not ssh's: %v", err)
	}
	for _, step := range []plan.Step{down, {In: "b", Restore: &plan.Restore{Dev: "vx0"}}, down} {
		if err := site.Apply(t.Context(), []plan.Step{step}); err != nil {
			t.Fatal(err)
		}
		if is := show(site); (is == before) != (step.Restore != nil) {
			t.Errorf("after %+v: %s", step, is)
		}
	}
	for _, pid := range children(t, os.Getpid(), "ssh") {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	gone(t)
	if _, site = opened(); show(site) != before {
		t.Errorf("the connection was lost: %s, want %s", show(site), before)
	}
}
