package lab

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"

	"github.com/weir-bench/weir/internal/plan"
)

func (p *place) rule(r *plan.Rule) error {
	rule := netlink.NewRule()
	rule.Table, rule.Priority = r.Table, r.Priority
	rule.Src, rule.Dst = optional(r.From), optional(r.To)
	if err := p.nl.RuleAdd(rule); err != nil {
		return fmt.Errorf("rule %d from %v to %v, table %d: %w", r.Priority, r.From, r.To, r.Table, unsupported(err, "policy rules"))
	}
	return nil
}

// optional is p for netlink, nil when it is not given.
func optional(p netip.Prefix) *net.IPNet {
	if !p.IsValid() {
		return nil
	}
	return ipnet(p)
}

func (p *place) proxy(x *plan.Proxy) error {
	dev, err := p.nl.LinkByName(x.Dev)
	if err == nil {
		err = p.nl.NeighAdd(&netlink.Neigh{LinkIndex: dev.Attrs().Index, Flags: netlink.NTF_PROXY, IP: x.Addr.AsSlice()})
	}
	if err != nil {
		return fmt.Errorf("answer for %v on %s: %w", x.Addr, x.Dev, err)
	}
	return nil
}
