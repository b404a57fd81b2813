package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// A Feature is something that plans may ask of the kernel.
type Feature struct {
	Name   string
	Needed bool  // by the default study
	Err    error // why it is missing
}

// Features that depend on more than the kernel's version.
const (
	tapFeature = "tap devices"
	ovsFeature = "openvswitch datapath"
)

// ovsKernel says why this kernel has no datapath of Open vSwitch.
func ovsKernel() error {
	// The name is in include/uapi/linux/openvswitch.h. To ask for it loads the
	// module, where there is one (net/netlink/genetlink.c, ctrl_getfamily).
	if _, err := netlink.GenlFamilyGet("ovs_datapath"); err != nil {
		return fmt.Errorf("generic netlink family ovs_datapath: %w; the ovs networks use the userspace datapath (netdev) instead", err)
	}
	return nil
}

// Kernel finds out what plans have to know of this kernel. It needs no privilege
// and no namespace.
func Kernel() topo.Kernel { return topo.Kernel{OVS: ovsKernel() == nil} }

// Supports finds out what this kernel can do by doing it, in namespaces that
// are thrown away. Versions and configuration files tell less.
func Supports(ctx context.Context) (_ []Feature, err error) {
	site, err := Open(ctx, []string{"a", "b"}, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	try := func(s plan.Step) error {
		s.In = "a"
		return site.Apply(ctx, []plan.Step{s})
	}
	link := func(l plan.Link) error { return try(plan.Step{Link: &l}) }
	return []Feature{
		{"veth", true, link(plan.Link{Name: "v0", Kind: "veth", Peer: "v0", PeerIn: "b"})},
		{"bridge", true, link(plan.Link{Name: "br0", Kind: "bridge"})},
		{"vxlan", true, link(plan.Link{Name: "vx0", Kind: "vxlan", VNI: 1, Port: 4789, Local: netip.MustParseAddr("127.0.0.1")})},
		{"macvlan", false, link(plan.Link{Name: "m0", Kind: "macvlan", Parent: "v0", To: "b"})},
		{"link rate (sch_tbf)", false, try(plan.Step{Rate: &plan.Rate{Dev: "v0", Rate: 1e9, MTU: 1500}})},
		{"offload switches", false, try(plan.Step{Offload: &plan.Offload{Dev: "v0", Features: map[string]bool{"tx-tcp-segmentation": false}}})},
		{"forwarding", false, try(plan.Step{Sysctl: &plan.Sysctl{Key: "net.ipv4.ip_forward", Value: "1"}})},
		{tapFeature, false, opens("/dev/net/tun")},
		{ovsFeature, false, ovsKernel()},
		{"IPv6", false, try(plan.Step{Addr: &plan.Addr{Dev: "v0", Prefix: netip.MustParsePrefix("fd77::1/64")}})},
	}, nil
}
