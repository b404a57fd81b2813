package lab

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/weir-bench/weir/internal/plan"
)

// A Feature is something that plans may ask of the kernel.
type Feature struct {
	Name string
	Err  error // why it is missing
}

// Supports finds out what this kernel can do by doing it, in namespaces that
// are thrown away. Versions and configuration files tell less.
func Supports(ctx context.Context) ([]Feature, error) {
	site, err := Open(ctx, []string{"a", "b"})
	if err != nil {
		return nil, err
	}
	try := func(steps ...plan.Step) error { return site.Apply(ctx, steps) }
	link := func(l plan.Link) plan.Step { return plan.Step{In: "a", Link: &l} }
	fs := []Feature{
		{"veth", try(link(plan.Link{Name: "v0", Kind: "veth", Peer: "v0", PeerIn: "b"}))},
		{"bridge", try(link(plan.Link{Name: "br0", Kind: "bridge"}))},
		{"vxlan", try(link(plan.Link{Name: "vx0", Kind: "vxlan", VNI: 1, Port: 4789, Local: netip.MustParseAddr("127.0.0.1")}))},
		{"macvlan", try(link(plan.Link{Name: "m0", Kind: "macvlan", Parent: "v0", To: "b"}))},
		{"link rate (tbf)", try(plan.Step{In: "a", Rate: &plan.Rate{Dev: "v0", Rate: 1e9, MTU: 1500}})},
		{"offload switches (ethtool)", try(plan.Step{In: "a", Offload: &plan.Offload{Dev: "v0", Features: map[string]bool{"tx-tcp-segmentation": false}}})},
		{"forwarding (sysctl)", try(plan.Step{In: "a", Sysctl: &plan.Sysctl{Key: "net.ipv4.ip_forward", Value: "1"}})},
		{"IPv6", try(plan.Step{In: "a", Addr: &plan.Addr{Dev: "v0", Prefix: netip.MustParsePrefix("fd77::1/64")}})},
	}
	if err := site.Close(); err != nil {
		return nil, fmt.Errorf("close the scratch namespaces: %w", err)
	}
	return fs, nil
}
