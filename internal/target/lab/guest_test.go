package lab

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target/agent"
)

// An agent applies steps and checks states in its process's own network namespace.
func TestActor(t *testing.T) {
	nstest.Need(t)
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- agent.Serve(theirs, Actor) }()
	n, err := agent.Dial(t.Context(), "g", ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	step := func(s plan.Step) error { return n.Step(t.Context(), s) }
	mtu := func(is int) error { return n.Check(t.Context(), plan.State{In: "g", Dev: "br7", MTU: is}) }
	for _, c := range []struct {
		err  error
		want string
	}{
		{step(plan.Step{In: "g", Link: &plan.Link{Name: "br7", Kind: "bridge", MTU: 1400}}), ""},
		{mtu(1400), ""},
		{mtu(1500), "g: MTU of br7 is 1400, expected 1500"},
		{step(plan.Step{In: "g", Addr: &plan.Addr{Dev: "none", Prefix: netip.MustParsePrefix("10.64.1.1/10")}}), "address 10.64.1.1/10 on none: no such device"},
		{step(plan.Step{In: "elsewhere", Set: &plan.Set{Dev: "br7", MTU: 1500}}), `set MTU of br7 to 1500: unknown place "elsewhere": want one of [g]`},
		{step(plan.Step{In: "g", Exec: &plan.Exec{Argv: []string{"true"}}}), "daemons in guests are not supported"},
		{step(plan.Step{In: "g"}), "the step is empty"},
	} {
		if c.want == "" && c.err != nil || c.want != "" && (c.err == nil || c.err.Error() != c.want) {
			t.Errorf("error %v, want %q", c.err, c.want)
		}
	}
	n.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A pod cannot be a guest of a host that runs no service or whose service does not answer.
func TestNoGuest(t *testing.T) {
	nstest.Need(t)
	site, err := Open(t.Context(), []string{"h1", "p1"}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	}()
	step := plan.Step{In: "p1", Guest: &plan.Guest{Host: "h1", Socket: plan.Dir + "/none.sock"}}
	for _, c := range []struct {
		before []plan.Step
		want   string
	}{
		{nil, "guest p1: no service runs on h1"},
		{[]plan.Step{{In: "h1", File: &plan.File{Name: "x"}}}, "no such file or directory"},
	} {
		if err := site.Apply(t.Context(), append(c.before, step)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}
