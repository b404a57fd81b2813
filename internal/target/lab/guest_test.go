package lab

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/netns"
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

// Steps of a container act in a network namespace of its own, which has a name for programs.
func TestActorOfContainers(t *testing.T) {
	nstest.Need(t)
	if err := unix.Mount("weir", "/run", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount("/run", unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	a, err := Actor("g")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.(actor).devices = 100 // another test's device is in this namespace
	step := func(s plan.Step) error { return a.Step(t.Context(), s) }
	inside := plan.Step{In: "c", Inside: &plan.Inside{Guest: "g"}}
	for _, err := range []error{step(inside),
		step(plan.Step{In: "g", Link: &plan.Link{Name: "p7", Kind: "veth", MTU: 1400, Peer: "eth0", PeerIn: "c"}}),
		step(plan.Step{In: "c", Addr: &plan.Addr{Dev: "eth0", Prefix: netip.MustParsePrefix("10.64.1.1/10")}}),
		step(plan.Step{In: "c", Set: &plan.Set{Dev: "eth0", MTU: 1300}}),
		a.Check(plan.State{In: "c", Dev: "eth0", MTU: 1300}), a.Check(plan.State{In: "g", Dev: "p7", MTU: 1400})} {
		if err != nil {
			t.Error(err)
		}
	}
	if err := step(inside); err == nil || err.Error() != "duplicate place c" {
		t.Errorf("error %v", err)
	}
	ns, err := netns.At(hostns.Peer("c"))
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	b, err := nsFS{ns, nil, "/"}.Open("proc/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if text, err := io.ReadAll(b); err != nil || !strings.Contains(string(text), "eth0:") || strings.Contains(string(text), "p7:") {
		t.Errorf("the name is another namespace's, with the devices\n%s, %v", text, err)
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
		{[]plan.Step{{In: "p1", Inside: &plan.Inside{Guest: "h1"}}}, "container p1: h1 is not a guest"},
	} {
		if err := site.Apply(t.Context(), append(c.before, step)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}
