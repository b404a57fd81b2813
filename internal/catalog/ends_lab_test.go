package catalog

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/labtest"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/topo"
)

// apart lists ends that a network does not connect. Pods on bridges and in WireGuard would need
// address translation to reach other hosts; a station of the underlay has no route to its host; a
// line connects only neighbors. The second NIC of IPv6 hosts does not answer for the address of the
// first.
var apart = map[string][]string{
	"bridged/IPv6":          {"pod-host"},
	"bridged/2 hosts":       {"pod-host"},
	"eni-dedicated":         {"host-pod", "pod-host"},
	"eni-shared/IPv6":       {"pod-host"},
	"geneve-overlay":        {"pod-host"},
	"ipvlan":                {"host-pod", "pod-host"},
	"ipvlan-l3/one host":    {"host-pod", "pod-host"},
	"macvlan":               {"host-pod", "pod-host"},
	"vxlan":                 {"host-vxlan", "vxlan-host"},
	"vxlan-hops":            {"host-host", "pod-host"},
	"vxlan-overlay/IPv6":    {"pod-host"},
	"vxlan-overlay/2 hosts": {"pod-host"},
	"wireguard":             {"pod-host"},
}

// Unless listed in apart, full-size packets pass in both directions between all ends of every
// network without daemons, along the planned path.
func TestEndsInTheLab(t *testing.T) {
	nstest.Need(t)
	for _, name := range In(network.InLab) {
		for where, s := range map[string]topo.Spec{"2 hosts": {}, "IPv6": {IPv6: true, PodsIPv6: true}, "one host": {Hosts: 1}} {
			n := Networks[name]
			d := n.New()
			tp, err := topo.New(n.Spec(d, s))
			if err != nil {
				t.Fatal(err)
			}
			p, err := network.Build(d, tp)
			if err != nil || len(p.Daemons())+len(p.Programs()) > 0 || (where == "one host") != (len(tp.Hosts) == 1) {
				continue
			}
			t.Run(name+"/"+where, func(t *testing.T) {
				if testing.Short() && (name != "vxlan-overlay" || where != "2 hosts") {
					t.Skip("slow: run without -short")
				}
				t.Parallel()
				site := labtest.Build(t, tp, p)
				labels := map[string]bool{}
				for _, e := range p.Ends {
					labels[e.Label] = true
				}
				for _, from := range slices.Sorted(maps.Keys(labels)) {
					for _, to := range slices.Sorted(maps.Keys(labels)) {
						pair := from + "-" + to
						known := slices.Contains(slices.Concat(apart[name], apart[name+"/"+where]), pair)
						client, server, err := p.Between(pair)
						if errors.Is(err, plan.ErrNoEnds) && (known || len(tp.Hosts) == 1 && from == to) {
							continue
						}
						if err != nil {
							t.Fatal(err)
						}
						built := labtest.Ends(t, site, p, client, server)
						timeout := 10 * time.Second
						if known {
							timeout /= 20
						}
						_, err = built.Engines.Reach(t.Context(), built.Plan.Path.MTU, timeout)
						switch {
						case err == nil && known:
							t.Errorf("%s: packets pass, and should not", pair)
						case err == nil:
							succeeds(t, built, &probe.UDPRR{})
							succeeds(t, built, &probe.TCPStream{})
						case !known:
							t.Errorf("%s: %v", pair, err)
						}
						if err := built.Engines.Stop(); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
	}
}
