package lab

import (
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/plan"
)

// An address can be bound as soon as its step is applied. With accept_dad 0 alone an IPv6 address
// stays tentative until a kernel worker has processed it.
func TestAddressIsUsableAtOnce(t *testing.T) {
	s := open(t, "a", "b")
	steps := append(wire(1500),
		plan.Step{In: "a", Addr: &plan.Addr{Dev: "e0", Prefix: netip.MustParsePrefix("2001:2::1/64")}},
		plan.Step{In: "b", Addr: &plan.Addr{Dev: "e0", Prefix: netip.MustParsePrefix("2001:2::2/64")}})
	if err := s.Apply(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
	nl := reader(t, s.Nodes["b"])
	dev, err := nl.LinkByName("e0")
	if err != nil {
		t.Fatal(err)
	}
	addrs, err := nl.AddrList(dev, netlink.FAMILY_V6)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, a := range addrs {
		if a.IP.String() == "2001:2::2" {
			found = true
			if a.Flags&unix.IFA_F_NODAD == 0 || a.Flags&unix.IFA_F_TENTATIVE != 0 {
				t.Errorf("%v has flags %#x: it may not be usable yet", a.IP, a.Flags)
			}
		}
	}
	if !found {
		t.Errorf("the address is not among %v", addrs)
	}
}
