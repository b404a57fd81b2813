package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// A Feature is a kernel feature that plans use.
type Feature struct {
	Name   string
	Needed bool  // by the default study
	Err    error // why it is missing; nil when present
}

// ErrUnsupported means that a step needs a feature the kernel lacks.
var ErrUnsupported = errors.New("not supported by this kernel")

// options maps each feature to its configuration option and its module's name, if any.
var options = map[string][2]string{
	"br_netfilter": {"CONFIG_BRIDGE_NETFILTER", "br_netfilter"},
	"bridge":       {"CONFIG_BRIDGE", "bridge"},
	"dummy":        {"CONFIG_DUMMY", "dummy"},
	"geneve":       {"CONFIG_GENEVE", "geneve"},
	"ipip":         {"CONFIG_NET_IPIP", "ipip"},
	"ipvlan":       {"CONFIG_IPVLAN", "ipvlan"},
	"macvlan":      {"CONFIG_MACVLAN", "macvlan"},
	"netem":        {"CONFIG_NET_SCH_NETEM", "sch_netem"},
	"netkit":       {"CONFIG_NETKIT (Linux 6.7)", ""},
	"openvswitch":  {"CONFIG_OPENVSWITCH", "openvswitch"},
	"policy rules": {"CONFIG_IP_MULTIPLE_TABLES", ""},
	"tbf":          {"CONFIG_NET_SCH_TBF", "sch_tbf"},
	"veth":         {"CONFIG_VETH", "veth"},
	"vlan":         {"CONFIG_VLAN_8021Q", "8021q"},
	"vxlan":        {"CONFIG_VXLAN", "vxlan"},
	"wireguard":    {"CONFIG_WIREGUARD", "wireguard"},
}

// unsupported adds the remedy to err if err means that the kernel lacks the feature.
func unsupported(err error, feature string) error {
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.EAFNOSUPPORT) {
		return err
	}
	o, ok := options[feature]
	if !ok {
		return err
	}
	fix := "boot a kernel built with it, as weir run --in-vm does"
	if o[1] != "" {
		fix = fmt.Sprintf("load its module as root (modprobe %s), or %s", o[1], fix)
	}
	return &lacking{err, o[0], fix}
}

// lacking is the error of a step that needs an option of the kernel.
type lacking struct {
	err         error
	option, fix string
}

func (l *lacking) Error() string {
	return fmt.Sprintf("%v: %v, which lacks %s; %s", l.err, ErrUnsupported, l.option, l.fix)
}

func (l *lacking) Unwrap() []error { return []error{l.err, ErrUnsupported} }

// Briefly says what is missing, and how to enable it, without the step that found out.
func Briefly(err error) string {
	if l := (*lacking)(nil); errors.As(err, &l) {
		return "the kernel lacks " + l.option + ": " + l.fix
	}
	return err.Error()
}

// Lacks returns why a machine with these features cannot take the steps of a plan; nil if nothing is known to be
// missing.
func Lacks(features []Feature, p plan.Plan) error {
	has := func(name string) error {
		for _, f := range features {
			if f.Name == name {
				return f.Err
			}
		}
		return nil
	}
	for _, s := range p.Steps {
		var err error
		switch {
		case s.Link != nil && s.Link.Kind == "tap":
			err = has(tapFeature)
		case s.Link != nil:
			err = has(s.Link.Kind)
		case s.Rule != nil:
			err = has(ruleFeature)
		case s.Service != nil:
			err = permits(s.Service)
			for _, f := range s.Service.Kernel {
				if f == "openvswitch" {
					f = ovsFeature
				}
				err = cmp.Or(err, has(f))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Features that depend on more than the kernel's version.
const (
	tapFeature = "tap devices"
	ovsFeature = "openvswitch datapath"

	ruleFeature = "policy rules"
)

// ovsKernel returns an error when this kernel has no Open vSwitch datapath.
func ovsKernel() error {
	s, err := openSocket(unix.NETLINK_GENERIC)
	if err != nil {
		return err
	}
	defer s.close()
	// The name is from include/uapi/linux/openvswitch.h. The request loads the module if there is
	// one (net/netlink/genetlink.c, ctrl_getfamily).
	r := newRequest(unix.GENL_ID_CTRL, 0, struct { // struct genlmsghdr
		Command, Version uint8
		_                uint16
	}{Command: unix.CTRL_CMD_GETFAMILY, Version: 1})
	r.str(unix.CTRL_ATTR_FAMILY_NAME, "ovs_datapath")
	if _, _, err := s.do(r); err != nil {
		return fmt.Errorf("generic netlink family ovs_datapath: %w; the ovs networks use the userspace datapath (netdev) instead", err)
	}
	return nil
}

// Kernel detects the kernel features that plans depend on. It needs no privilege and no namespace.
func Kernel() topo.Kernel {
	// The module, even built in, creates this in every network namespace (net/8021q/vlanproc.c).
	_, vlan := os.Stat("/proc/net/vlan")
	return topo.Kernel{OVS: ovsKernel() == nil, VLAN: vlan == nil}
}

// Supports tests features by use: versions and configuration files are less reliable.
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
	a, b := netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.0.2")
	return []Feature{
		{"veth", true, link(plan.Link{Name: "v0", Kind: "veth", Peer: "v0", PeerIn: "b"})},
		{"bridge", true, link(plan.Link{Name: "br0", Kind: "bridge"})},
		{"vxlan", true, link(plan.Link{Name: "vx0", Kind: "vxlan", VNI: 1, Port: 4789, Local: netip.MustParseAddr("127.0.0.1")})},
		{"macvlan", false, link(plan.Link{Name: "m0", Kind: "macvlan", Parent: "v0", To: "b"})},
		{"ipvlan", false, link(plan.Link{Name: "i0", Kind: "ipvlan", Mode: "l2", Parent: "br0", To: "b"})}, // a device has macvlans or ipvlans, not both
		{"geneve", false, link(plan.Link{Name: "g0", Kind: "geneve", VNI: 1, Port: 6081, Remote: b})},
		{"ipip", false, link(plan.Link{Name: "t0", Kind: "ipip", Local: a})},
		{"wireguard", false, link(plan.Link{Name: "wg0", Kind: "wireguard", Port: 51820})},
		{"netkit", false, link(plan.Link{Name: "n0", Kind: "netkit", Mode: "l3", Peer: "n0", PeerIn: "b"})},
		{"dummy", false, link(plan.Link{Name: "d0", Kind: "dummy"})},
		{"vlan", false, link(plan.Link{Name: "v0.42", Kind: "vlan", Parent: "v0", Tag: 42})},
		{ruleFeature, false, try(plan.Step{Rule: &plan.Rule{From: netip.PrefixFrom(a, 32), Table: 1001, Priority: 2048}})},
		{"link rate (sch_tbf)", false, try(plan.Step{Rate: &plan.Rate{Dev: "v0", Rate: 1e9, MTU: 1500}})},
		{"delay between hosts", false, try(plan.Step{Delay: &plan.Delay{Dev: "br0", Bridge: "br0", Delay: time.Millisecond}})},
		{"offload switches", false, try(plan.Step{Offload: &plan.Offload{Dev: "v0", Features: map[string]bool{"tx-tcp-segmentation": false}}})},
		{"receive packet steering", false, try(plan.Step{Sysctl: &plan.Sysctl{Key: plan.DefaultRPS, Value: plan.AllCPUs}})},
		{"forwarding", false, try(plan.Step{Sysctl: &plan.Sysctl{Key: "net.ipv4.ip_forward", Value: "1"}})},
		{tapFeature, false, opens("/dev/net/tun")},
		{ovsFeature, false, ovsKernel()},
		{"IPv6", false, try(plan.Step{Addr: &plan.Addr{Dev: "v0", Prefix: netip.MustParsePrefix("fd77::1/64")}})},
	}, nil
}
