package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/plan"
)

// A watch hears of what steps change, in which place and in which order, and of what the kernel changes in return.
func TestChanges(t *testing.T) {
	s, _ := openLogs(t, "h1", "h2")
	route := func(gone bool) plan.Step {
		return plan.Step{In: "h1", Route: &plan.Route{Dst: netip.MustParsePrefix("10.9.0.0/16"), Via: netip.MustParseAddr("10.1.0.2"), Dev: "eth0", Gone: gone}}
	}
	addr := func(in, a string) plan.Step {
		return plan.Step{In: in, Addr: &plan.Addr{Dev: "eth0", Prefix: netip.MustParsePrefix(a)}}
	}
	if err := s.Apply(t.Context(), []plan.Step{
		{In: "h1", Link: &plan.Link{Name: "eth0", Kind: "veth", Peer: "eth0", PeerIn: "h2"}}, addr("h1", "10.1.0.1/24"), addr("h2", "10.1.0.2/24"), route(false),
	}); err != nil {
		t.Fatal(err)
	}
	stop, err := s.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := s.Clock()
	rules := plan.Step{In: "h2", Exec: &plan.Exec{Argv: []string{"nft", "add table ip watched"}}}
	if _, _, err := facts.Tool(t.Context(), "nft"); err != nil {
		rules = plan.Step{In: "h2", Sysctl: &plan.Sysctl{Key: "net.ipv4.ip_forward", Value: "1"}}
	}
	if err := s.Apply(t.Context(), []plan.Step{rules, route(true), {In: "h2", Set: &plan.Set{Dev: "eth0", Down: true}}, {In: "h2", Set: &plan.Set{Dev: "eth0", Up: true}}}); err != nil {
		t.Fatal(err)
	}
	all, err := stop()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range all {
		if c.At < before || c.At > s.Clock() {
			t.Errorf("%+v is not between %d and %d", c, before, s.Clock())
		}
		got = append(got, fmt.Sprintf("%s %s %s %s %s", c.In, c.What, c.Dev, c.To, c.State))
	}
	if !slices.Contains(got, "h1 route eth0 10.9.0.0/16 gone") {
		t.Errorf("no route is gone in %q", got)
	}
	if rules.Exec != nil && !slices.Contains(got, "h2 rules  nft set") {
		t.Errorf("no rules are set in %q", got)
	}
	at := -1
	for _, want := range []string{"h2 device eth0  down", "h2 device eth0  up"} { // on a busy machine, places are heard one after the other
		i := slices.Index(got, want)
		if i <= at {
			t.Errorf("%q is at %d, after the %dth of %q", want, i, at, got)
		}
		at = i
	}
}

// Messages of the kernel are bounded, but nothing here trusts that.
func FuzzChange(f *testing.F) {
	f.Add(uint16(unix.RTM_NEWLINK), make([]byte, 40))
	f.Add(uint16(unix.RTM_DELNEIGH), make([]byte, 12))
	f.Add(uint16(unix.RTM_NEWROUTE), append(make([]byte, 12), 8, 0, 1, 0, 10, 0, 0, 1))
	f.Add(uint16(unix.RTM_NEWADDR), []byte{2, 99, 0, 0, 1, 0, 0, 0, 8, 0, 1, 0, 10, 0, 0, 1})
	f.Fuzz(func(t *testing.T, kind uint16, b []byte) {
		e := &ear{names: map[int32]string{1: "eth0"}}
		if c, ok := e.changeOf(kind, b); ok && (c.What == "" || c.State == "" || c.Dev+c.To == "") {
			t.Errorf("%d %x: %+v", kind, b, c)
		}
	})
}

func TestNeighborState(t *testing.T) {
	for state, want := range map[uint16]string{unix.NUD_REACHABLE: evidence.Known, unix.NUD_STALE: evidence.Known, unix.NUD_FAILED: evidence.Failed, unix.NUD_INCOMPLETE: evidence.Unknown, 0: evidence.Unknown} {
		if got := neighborState(state); got != want {
			t.Errorf("%#x is %s, want %s", state, got, want)
		}
	}
}
