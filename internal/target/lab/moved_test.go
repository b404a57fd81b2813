package lab

import (
	"bytes"
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// An announcement gives neighbors that know the address another device for it.
func TestAnnounce(t *testing.T) {
	s := open(t, "a", "b")
	if err := s.Apply(t.Context(), wire(1500)); err != nil {
		t.Fatal(err)
	}
	dev := map[string]netlink.Link{}
	for _, in := range []string{"a", "b"} {
		var err error
		if dev[in], err = reader(t, s.Nodes[in]).LinkByName("e0"); err != nil {
			t.Fatal(err)
		}
	}
	nl, at := reader(t, s.Nodes["a"]), netip.MustParseAddr("198.18.0.2")
	old := net.HardwareAddr{2, 0, 0, 0, 0, 9}
	if err := nl.NeighSet(&netlink.Neigh{LinkIndex: dev["a"].Attrs().Index, State: netlink.NUD_STALE, IP: at.AsSlice(), HardwareAddr: old}); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), []plan.Step{{In: "b", Announce: &plan.Announce{Dev: "e0", Addr: at}}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	knows := func() (found net.HardwareAddr) {
		all, err := nl.NeighList(dev["a"].Attrs().Index, netlink.FAMILY_V4)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range all {
			if n.IP.Equal(at.AsSlice()) {
				found = n.HardwareAddr
			}
		}
		return found
	}
	for slices.Equal(knows(), old) {
		if ctx.Err() != nil {
			t.Fatal("the neighbor still has the old device")
		}
	}
	if got := knows(); !slices.Equal(got, dev["b"].Attrs().HardwareAddr) {
		t.Errorf("the address is at %v, want %v", got, dev["b"].Attrs().HardwareAddr)
	}
	none := plan.Step{In: "b", Announce: &plan.Announce{Dev: "e9", Addr: at}}
	if err := s.Apply(t.Context(), []plan.Step{none}); err == nil || !strings.Contains(err.Error(), "announce 198.18.0.2 on e9") {
		t.Errorf("a device that is not there: %v", err)
	}
}

// What a Drop concerns does not arrive while it lasts, and everything else does.
func TestDrop(t *testing.T) {
	s := open(t, "a", "b")
	if err := s.Apply(t.Context(), wire(1500)); err != nil {
		t.Fatal(err)
	}
	fd := map[string]int{}
	for _, in := range []string{"a", "b"} {
		err := s.Nodes[in].(*place).ns.Do(func() (err error) {
			fd[in], err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd[in])
	}
	at := &unix.SockaddrInet4{Port: 9, Addr: [4]byte{198, 18, 0, 2}}
	if err := cmp.Or(unix.Bind(fd["b"], at), unix.SetsockoptTimeval(fd["b"], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10})); err != nil {
		t.Fatal(err)
	}
	send := func(text string) {
		if err := unix.Sendto(fd["a"], []byte(text), 0, at); err != nil {
			t.Fatal(err)
		}
	}
	arrived := func() string {
		b := make([]byte, 10)
		n, err := unix.Read(fd["b"], b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	send("known") // from here on, a knows b's device
	arrived()
	with := netip.MustParsePrefix
	for _, c := range []struct {
		in      string
		with    netip.Prefix
		dropped bool
	}{{"b", netip.Prefix{}, true}, {"a", netip.Prefix{}, true}, {"a", with("198.18.0.2/31"), true}, {"b", with("198.18.0.1/32"), true}, {"b", with("198.18.0.9/32"), false}, {"b", with("2001:db8::/32"), false}} {
		do := []plan.Step{{In: c.in, Drop: &plan.Drop{Dev: "e0", With: c.with}}}
		undo, err := plan.Plan{}.Inverse(do)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(t.Context(), append(do, do...)); err != nil {
			t.Fatal(err)
		}
		send("during")
		if err := s.Apply(t.Context(), append(undo, undo...)); err != nil {
			t.Fatal(err)
		}
		send("after")
		if first := arrived(); (first == "after") != c.dropped || !c.dropped && arrived() != "after" {
			t.Errorf("in %s with %v: first %q arrived", c.in, c.with, first)
		}
	}
	if err := s.Apply(t.Context(), []plan.Step{{In: "a", Drop: &plan.Drop{Dev: "e9"}}}); err == nil || !strings.Contains(err.Error(), "drop packets at e9") {
		t.Errorf("a device that is not there: %v", err)
	}
}

// What the kernel tracks is gone after a flush, and rules are the same after they were loaded again.
func TestFlushAndReload(t *testing.T) {
	s := open(t, "a", "b")
	track := "add table ip t; add chain ip t out { type filter hook output priority 0; }; add rule ip t out ct state new accept"
	steps := append(wire(1500), plan.Step{In: "a", Exec: &plan.Exec{Argv: []string{"nft", track}}})
	if err := s.Apply(t.Context(), steps); err != nil {
		t.Skip(err) // no nft, or a kernel without it
	}
	tracked := func() int {
		nl, err := netlink.NewHandleAt(vnetns.NsHandle(s.Nodes["a"].(*place).ns.FD()), unix.NETLINK_NETFILTER)
		if err != nil {
			t.Fatal(err)
		}
		defer nl.Close()
		flows, err := nl.ConntrackTableList(netlink.ConntrackTable, unix.AF_INET)
		if err != nil {
			t.Fatal(err)
		}
		return len(flows)
	}
	err := s.Nodes["a"].(*place).ns.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			defer unix.Close(fd)
			err = unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{198, 18, 0, 2}})
		}
		return err
	})
	if err != nil || tracked() != 1 {
		t.Fatalf("%v; %d connections are tracked, want 1", err, tracked())
	}
	rules := func() string {
		var out bytes.Buffer
		if err := s.Nodes["a"].Run(t.Context(), target.Cmd{Argv: []string{"nft", "list", "ruleset"}, Stdout: &out}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	before := rules()
	if err := s.Apply(t.Context(), []plan.Step{{In: "a", Flush: &plan.Flush{Table: plan.Conntrack}}, {In: "a", Reload: &plan.Reload{Rules: plan.NFT}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), []plan.Step{{In: "b", Reload: &plan.Reload{Rules: plan.NFT}}}); err == nil || !strings.Contains(err.Error(), "b has no rules to load again") {
		t.Errorf("no rules: %v", err)
	}
	if n := tracked(); n != 0 {
		t.Errorf("%d connections are tracked after a flush", n)
	}
	if after := rules(); after != before || !strings.Contains(after, "ct state new") {
		t.Errorf("the rules are\n%s\nafter they were\n%s", after, before)
	}
}
