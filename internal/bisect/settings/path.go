package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
)

// recall fills in the value of a side whose study does not set it: the one that held on the path there.
func (s *Setting) recall(before, after *evidence.Settings) {
	if len(s.from) == 0 {
		s.Before = s.recorded(before)
	}
	if len(s.to) == 0 {
		s.After = s.recorded(after)
	}
}

// recorded returns the value that a run recorded at all places of s; "" if it did not, or if they differ.
func (s *Setting) recorded(path *evidence.Settings) (value string) {
	if path == nil {
		return ""
	}
	dev, feature, _ := strings.Cut(s.Name, " ")
	for i, in := range s.Places {
		p := path.Places[in]
		v := words(p.Sysctl[s.Name])
		if on, ok := p.Devices[dev].Features[feature]; ok {
			v = onOff(on)
		}
		if i > 0 && v != value {
			return ""
		}
		value = v
	}
	return value
}

// path compares what held on the path, apart from what the studies set.
func (c *comparison) path() (all []change) {
	if c.a.Path == nil || c.b.Path == nil {
		return nil
	}
	for _, in := range union(c.a.Path.Places, c.b.Path.Places) {
		a, had := c.a.Path.Places[in]
		b, has := c.b.Path.Places[in]
		if !had || !has {
			c.cannot(c.place(in), "", "", lang.T("only one run recorded the settings of this place"))
			continue
		}
		all = append(all, c.sysctls(in, a.Sysctl, b.Sysctl)...)
		if !c.whole["bridge-nf"] {
			all = append(all, c.sysctls(in, a.BridgeNF, b.BridgeNF)...)
		}
		c.rules(in, a, b)
		for _, dev := range union(a.Devices, b.Devices) {
			x, had := a.Devices[dev]
			y, has := b.Devices[dev]
			if had && has {
				all = append(all, c.device(in, dev, x, y)...)
			} else {
				c.cannot(c.place(in)+" "+dev, x.Kind, y.Kind, lang.T("only one run has this device"))
			}
		}
	}
	return all
}

// place is the key of a place in the facts of a run.
func (c *comparison) place(in string) string { return facts.Paths + "." + c.network + " " + in }

func (c *comparison) sysctls(in string, a, b map[string]string) (all []change) {
	for _, key := range union(a, b) {
		x, y := words(a[key]), words(b[key])
		switch {
		case x == y || c.seen[placed{in, key}]:
		case x == "" || y == "":
			c.cannot(c.place(in)+".sysctl."+key, x, y, lang.T("only one run recorded it"))
		case !ofNamespace(key):
			c.cannot(c.place(in)+".sysctl."+key, x, y, ofMachine(key))
		case key == congestionKey: // of the ends, which are alike
			if !c.has(key) && len(c.a.Study.Factors[congestion])+len(c.b.Study.Factors[congestion]) == 0 {
				c.out.Settings = append(c.out.Settings, congestionControl(x, y))
			}
		default:
			all = append(all, change{in, key, x, y, []plan.Step{sysctl(in, key, x)}, []plan.Step{sysctl(in, key, y)}})
		}
	}
	return all
}

func words(s string) string { return strings.Join(strings.Fields(s), " ") }

// rules compares how many rules packets meet; the runs do not say which.
func (c *comparison) rules(in string, a, b evidence.Node) {
	x, y := count(a.Rules), count(b.Rules)
	if x == y || c.seen[placed{in, "nft"}] {
		return
	}
	c.cannot(c.place(in)+".rules", x, y, lang.T("a run records how many rules packets meet, and not which: add them to the study (also), and bisect that run"))
}

func count(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// qdiscs are the queueing disciplines that their name defines: the rest is the kernel's defaults.
var qdiscs = []string{"fq", "fq_codel", "noqueue", "pfifo", "pfifo_fast", "sfq"}

// device compares one device of the path.
func (c *comparison) device(in, dev string, a, b evidence.Device) (all []change) {
	key := c.place(in) + " " + dev
	add := func(what, x, y string, from, to plan.Step) {
		all = append(all, change{in, dev + " " + what, x, y, []plan.Step{from}, []plan.Step{to}})
	}
	set := func(mtu int) plan.Step { return plan.Step{In: in, Set: &plan.Set{Dev: dev, MTU: mtu}} }
	if a.MTU != b.MTU && !c.whole["mtu"] && !c.has("option mtu") && !c.anyMTU() {
		add("mtu", fmt.Sprint(a.MTU), fmt.Sprint(b.MTU), set(a.MTU), set(b.MTU))
	}
	tc := func(kind string) plan.Step {
		return plan.Step{In: in, Exec: &plan.Exec{Argv: []string{"tc", "qdisc", "replace", "dev", dev, "root", kind}}}
	}
	queueSeen := c.seen[placed{in, dev + " qdisc"}] || c.whole["link"] || c.whole["delay"] || c.whole["jitter"] || c.whole["loss"]
	switch {
	case queueSeen || a.Qdisc == b.Qdisc && a.Limit == b.Limit && a.Burst == b.Burst:
	case slices.Contains(qdiscs, a.Qdisc) && slices.Contains(qdiscs, b.Qdisc):
		add("qdisc", a.Qdisc, b.Qdisc, tc(a.Qdisc), tc(b.Qdisc))
	default:
		c.cannot(key+".qdisc", a.Qdisc, b.Qdisc, lang.T("a run does not record all parameters of this queueing discipline: add it to the study (also), and bisect that run"))
	}
	all = append(all, c.features(in, dev, a, b)...)
	c.rest(key, a, b)
	return all
}

// features compares offloads. The kernel switches some off with others (netdev_fix_features, net/core/dev.c). Features
// that depend on each other are one setting, and a feature that follows from one that a study sets is not a setting.
func (c *comparison) features(in, dev string, a, b evidence.Device) (all []change) {
	if c.whole["offload"] || c.whole["gro"] || c.whole["nic"] {
		return nil
	}
	stated := false
	for p := range c.seen {
		stated = stated || p.in == in && strings.HasPrefix(p.name, dev+" tx-")
	}
	var differ []string
	for _, f := range union(a.Features, b.Features) {
		was, had := a.Features[f]
		is, has := b.Features[f]
		switch {
		case had && has && was == is || c.seen[placed{in, dev + " " + f}]:
		case had && has && stated && strings.HasPrefix(f, "tx-"):
			c.cannot(c.place(in)+" "+dev+"."+f, onOff(was), onOff(is), lang.T("it can follow from another feature of the device, which a study sets"))
		case had && has:
			differ = append(differ, f)
		case len(a.Features) > 0 && len(b.Features) > 0: // no difference if the other run recorded no features at all
			c.cannot(c.place(in)+" "+dev+"."+f, known(was, had), known(is, has), lang.T("only one run's kernel has this feature"))
		}
	}
	for _, together := range families(differ) {
		x := change{in: in, name: dev + " " + strings.Join(together, ", ")}
		from, to := map[string]bool{}, map[string]bool{}
		for _, f := range together {
			from[f], to[f] = a.Features[f], b.Features[f]
		}
		x.before, x.after = switches(together, from), switches(together, to)
		x.from = []plan.Step{{In: in, Offload: &plan.Offload{Dev: dev, Features: from}}}
		x.to = []plan.Step{{In: in, Offload: &plan.Offload{Dev: dev, Features: to}}}
		all = append(all, x)
	}
	return all
}

// families joins features that depend on each other: segmentation depends on checksums and scatter-gather, and the
// variant of TCP segmentation that mangles IDs depends on TCP segmentation.
func families(features []string) (out [][]string) {
	of := func(f string) string {
		base := slices.ContainsFunc(features, func(g string) bool { return strings.HasPrefix(g, "tx-checksum") || g == "tx-scatter-gather" })
		switch {
		case base && strings.HasPrefix(f, "tx-"):
			return "tx"
		case f == "tx-tcp-mangleid-segmentation":
			return "tx-tcp-segmentation"
		}
		return f
	}
	at := map[string]int{}
	for _, f := range features {
		i, ok := at[of(f)]
		if !ok {
			i = len(out)
			at[of(f)] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], f)
	}
	return out
}

// switches writes features that are all on or all off as one word.
func switches(features []string, on map[string]bool) string {
	var out []string
	for _, f := range features {
		out = append(out, onOff(on[f]))
	}
	if len(slices.Compact(slices.Clone(out))) == 1 {
		return out[0]
	}
	return strings.Join(out, ", ")
}

func known(on, recorded bool) string {
	if !recorded {
		return ""
	}
	return onOff(on)
}

// union returns the keys of both maps, sorted.
func union[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// anyMTU reports whether a study sets an MTU somewhere: the MTUs of other devices can follow from it.
func (c *comparison) anyMTU() bool {
	return slices.ContainsFunc(c.out.Settings, func(s Setting) bool { return strings.HasSuffix(s.Name, " mtu") })
}

// rest compares what no step sets.
func (c *comparison) rest(key string, a, b evidence.Device) {
	for _, x := range []struct {
		name, a, b string
		also       string
	}{
		{".kind", a.Kind, b.Kind, ""},
		{".gsoMax", fmt.Sprint(a.GSOMax), fmt.Sprint(b.GSOMax), ""},
		{".gsoSegs", fmt.Sprint(a.GSOSegs), fmt.Sprint(b.GSOSegs), ""},
		{".groMax", fmt.Sprint(a.GROMax), fmt.Sprint(b.GROMax), ""},
		{".rps", strings.Join(a.RPS, " "), strings.Join(b.RPS, " "), "rps"},
		{".xps", strings.Join(a.XPS, " "), strings.Join(b.XPS, " "), ""},
	} {
		if x.a != x.b && !c.whole[x.also] {
			c.cannot(key+x.name, x.a, x.b, noStep)
		}
	}
}
