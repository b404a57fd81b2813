package trial

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/plan"
)

// unlike returns the settings of a place that the plan leaves to the kernel and that something else has changed: by
// NAME, or DEVICE NAME, the value and the kernel's. verify, bridges and queues check what a plan states. Nothing is
// known where programs set up a part of the network.
func (s *Setup) unlike(name string, p evidence.Node) map[string][2]string {
	some := func(is func(plan.Step) bool) bool { return slices.ContainsFunc(s.Plan.Steps, is) }
	if s.Site.Topology.Exists || some(func(x plan.Step) bool {
		return x.Exec != nil || x.Service != nil || x.Guest != nil || x.Adopt != nil || x.Delay != nil
	}) {
		return nil
	}
	found := map[string][2]string{}
	differ := func(setting, is, usual string) {
		if is != usual {
			found[setting] = [2]string{is, usual}
		}
	}
	if p.Rules != nil {
		differ("rules", strconv.Itoa(*p.Rules), "0")
	}
	for dev, d := range p.Devices {
		limited := some(func(x plan.Step) bool { return x.In == name && x.Rate != nil && x.Rate.Dev == dev })
		if d.Qdisc != "" && !limited {
			differ(dev+" qdisc", d.Qdisc, "noqueue") // the qdisc of every device without hardware (IFF_NO_QUEUE)
		}
		if d.GSOMax > 0 {
			differ(dev+" gso_max_size", strconv.Itoa(d.GSOMax), "65536") // GSO_LEGACY_MAX_SIZE, include/linux/netdevice.h
		}
		if d.GSOSegs > 0 {
			differ(dev+" gso_max_segs", strconv.Itoa(d.GSOSegs), "65535") // GSO_MAX_SEGS, likewise
		}
		if !s.steered()[name] {
			differ(dev+" rps", cmp.Or(strings.Join(d.RPS, ","), rpsOff), rpsOff)
		}
		differ(dev+" xps", cmp.Or(strings.Join(d.XPS, ","), rpsOff), rpsOff)
	}
	return found
}
