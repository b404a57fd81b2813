package trial

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// bridges records in bridge.nf whether the bridges of the trial's hosts pass packets to netfilter now:
// on, off, or absent without br_netfilter. It returns an error if a bridge on the path differs from
// the plan: loading br_netfilter, as dockerd does, switches it on in every namespace of the machine.
func (s *Setup) bridges(r *record.Result) error {
	want := map[string]map[string]string{} // keys and values by place
	for _, step := range s.Plan.Steps {
		if step.Sysctl != nil && strings.HasPrefix(step.Sysctl.Key, plan.BridgeNF) {
			if want[step.In] == nil {
				want[step.In] = map[string]string{}
			}
			want[step.In][step.Sysctl.Key] = step.Sysctl.Value
		}
	}
	crossed := slices.Concat([]string{s.Client.Host, s.Server.Host}, s.Plan.Crossed(s.Client, s.Server))
	slices.Sort(crossed)
	var states []string
	for _, host := range slices.Compact(crossed) {
		if s.Site.Nodes[host] == nil || want[host] == nil && !s.Site.Topology.Exists {
			continue
		}
		is := bridgeNF(s.files(s.Site.Nodes[host]))
		for key, v := range is {
			if w, stated := want[host][key]; stated && w != v {
				return fmt.Errorf("bridges in %s: %s is %s, the plan has %s: something else set it, perhaps by loading br_netfilter; load the module before the run (sudo modprobe br_netfilter)", host, key, v, w)
			}
		}
		states = append(states, nfState(is))
	}
	if len(states) > 0 {
		record.BridgeNF.Put(r.Observed, strings.Join(slices.Compact(states), ", "))
	}
	return nil
}

// bridgeNF reads the keys of a network namespace that exist.
func bridgeNF(node fs.FS) map[string]string {
	is := map[string]string{}
	for _, table := range topo.BridgeNFTables {
		if b, err := fs.ReadFile(node, bridgeFile(table)); err == nil {
			is[plan.BridgeNF+table] = strings.TrimSpace(string(b))
		}
	}
	return is
}

func bridgeFile(table string) string {
	return "proc/sys/" + strings.ReplaceAll(plan.BridgeNF+table, ".", "/")
}

func bridgeFiles() (names []string) {
	for _, table := range topo.BridgeNFTables {
		names = append(names, bridgeFile(table))
	}
	return names
}

// nfState names the state of the keys. It ignores the key of ARP, because no probe measures ARP.
func nfState(is map[string]string) string {
	v4, known := is[plan.BridgeNF+"iptables"]
	v6 := is[plan.BridgeNF+"ip6tables"]
	switch {
	case !known:
		return "absent"
	case v4 != v6:
		return fmt.Sprintf("iptables %s and ip6tables %s", v4, v6)
	case v4 == "0":
		return string(topo.BridgeNFOff)
	}
	return string(topo.BridgeNFOn)
}
