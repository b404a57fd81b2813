package network

import (
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Via is another device of the hosts: a tunnel such as WireGuard's, a VLAN, a second NIC. Programs run
// on the hosts and use its addresses. weir does not change the device.
type Via struct {
	Dev string `yaml:"dev"` // name of the device on every host, such as wg0
}

func (Via) Where() []Where { return []Where{OverSSH, InKube} }

func (n Via) Shape(s topo.Spec) topo.Spec {
	s.Find = topo.Find{Kind: topo.Via, Dev: n.Dev}
	return s
}

func (n Via) Plan(t topo.Topology) (plan.Plan, error) {
	// IFNAMSIZ (include/uapi/linux/if.h) is 16 with the final zero; dev_valid_name (net/core/dev.c).
	switch {
	case n.Dev == "":
		return plan.Plan{}, errNoDevice
	case len(n.Dev) > 15 || n.Dev == "." || n.Dev == ".." || strings.ContainsAny(n.Dev, "/: \t\r\n\v\f\x00"):
		return plan.Plan{}, fmt.Errorf("via: invalid dev %.20q: want the name of a device, at most 15 bytes without slash, colon and space", n.Dev)
	}
	return found("via", t, foundHosts(t))
}
