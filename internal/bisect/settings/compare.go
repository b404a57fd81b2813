package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
)

// A comparison collects what differs.
type comparison struct {
	a, b    Run
	network string
	out     Differences
	seen    map[placed]bool // what steps of a study set: the path shows their values again
	whole   map[string]bool // conditions that differ, of which the path shows the consequences
}

// Compare returns how two runs differ in a network that both have, and BEFORE's network without the differences that
// can be applied.
func Compare(before, after Run, network string) (d Differences, common study.Use, err error) {
	c := comparison{a: before, b: after, network: network, whole: map[string]bool{}}
	u, _ := before.Study.Network(network)
	v, _ := after.Study.Network(network)
	common, changes, seen, err := alsoChanges(u, v)
	if err != nil {
		return d, common, err
	}
	c.seen = seen
	c.out.Settings = merged(changes)
	for i := range c.out.Settings {
		c.out.Settings[i].recall(before.Path, after.Path)
	}
	for _, option := range union(u.Options, v.Options) {
		x, hasA := u.Options[option]
		y, hasB := v.Options[option]
		if option == study.AlsoKey || option == study.UnderKey || x == y && hasA == hasB {
			continue
		}
		c.out.Settings = append(c.out.Settings, Setting{Name: "option " + option, Before: x, After: y, option: option, hasA: hasA, hasB: hasB})
	}
	c.conditions(u, v)
	c.out.Settings = append(c.out.Settings, merged(c.path())...)
	c.facts()
	slices.SortStableFunc(c.out.Settings, byName)
	return c.out.Without(func(Setting) lang.Text { return "" }), common, nil
}

// conditions compares what studies say about all hosts and links: the underlay, factors with one level, and the network's
// own conditions.
func (c *comparison) conditions(u, v study.Use) {
	x, y := levels(c.a.Study, u), levels(c.b.Study, v)
	for _, name := range union(x, y) {
		l, hasA := x[name]
		m, hasB := y[name]
		if l == m && hasA == hasB {
			continue
		}
		c.whole[name] = true
		if hasA && hasB || study.Neutral(name) != "" || name == "gro" || name == "bridge-nf" {
			c.out.Settings = append(c.out.Settings, Setting{Name: name, Before: l, After: m, condition: name, hasA: hasA, hasB: hasB})
		} else {
			c.cannot(name, l, m, lang.T("only one run says what it is, and weir knows no level that leaves it as it was in the other"))
		}
	}
}

// levels returns the conditions of a study that hold for all its trials of a network.
func levels(s study.Study, u study.Use) map[string]string {
	t := s.Topology
	l := map[string]string{"mtu": fmt.Sprint(t.MTU)}
	if t.Link != "" {
		l["link"] = t.Link
	}
	if t.NIC != topo.NICFull {
		l["nic"] = string(t.NIC)
	}
	if d := t.Distance; d != (topo.Distance{}) {
		l["delay"], l["jitter"], l["loss"] = d.Delay.String(), d.Jitter.String(), fmt.Sprintf("%g%%", 100*d.Loss)
	}
	under, _ := u.Under() // it was read before
	maps.Copy(l, under)
	for f, of := range s.Factors {
		if len(of) == 1 && condition.Builds(f) {
			l[f] = of[0]
		}
	}
	return l
}

func (c *comparison) cannot(key, before, after string, why lang.Text) {
	c.out.Unapplied = append(c.out.Unapplied, Unapplied{key, before, after, why})
}

// facts sorts what the runs recorded besides their studies and the path.
func (c *comparison) facts() {
	for _, d := range facts.Differ([]map[string][]byte{c.a.Conditions, c.b.Conditions}) {
		of, rest, _ := strings.Cut(d.Key, ".")
		switch {
		case of == facts.Paths && strings.HasPrefix(rest, c.network+" ") && c.a.Path != nil && c.b.Path != nil:
		case of == facts.Paths:
			c.cannot(d.Key, d.Values[0], d.Values[1], lang.T("of a network other than %s, whose change weir looks for", c.network))
		case of == "study":
			c.ofStudy(rest, d)
		case of == "found":
			c.cannot(d.Key, d.Values[0], d.Values[1], lang.T("another version of a program: build both, and search its commits (weir bisect commits)"))
		default:
			c.ofHost(rest, d)
		}
	}
	for _, f := range union(c.a.Study.Factors, c.b.Study.Factors) {
		p, q := c.a.Study.Factors[f], c.b.Study.Factors[f]
		x, y := strings.Join(p, ", "), strings.Join(q, ", ")
		if f == congestion && len(p) == 1 && len(q) == 1 && x != y {
			c.out.Settings = append(c.out.Settings, congestionControl(x, y))
		} else if x != y && !c.whole[f] {
			c.cannot("factor "+f, x, y, lang.T("a factor of the study: bisect runs of the same factors"))
		}
	}
}

func (c *comparison) ofStudy(rest string, d facts.Difference) {
	if own, ok := strings.CutPrefix(rest, "options."); ok {
		switch {
		case strings.HasPrefix(own, c.network+"."):
			return // compared as steps, options and conditions
		case slices.ContainsFunc(c.a.Study.Probes, func(u study.Use) bool { return strings.HasPrefix(own, u.Name+".") }):
			c.cannot(d.Key, d.Values[0], d.Values[1], lang.T("of the measurement, which is BEFORE's in all trials"))
		default:
			c.cannot(d.Key, d.Values[0], d.Values[1], lang.T("of a network other than %s, whose change weir looks for", c.network))
		}
		return
	}
	topology, is := strings.CutPrefix(rest, "topology.")
	switch {
	case is && slices.ContainsFunc([]string{"MTU", "Link", "NIC", "Distance."}, func(p string) bool { return strings.HasPrefix(topology, p) }):
		// compared as conditions
	case is:
		c.cannot(d.Key, d.Values[0], d.Values[1], lang.T("the size and the addresses of the network, which are BEFORE's in all trials"))
	default:
		c.cannot(d.Key, d.Values[0], d.Values[1], lang.T("of the measurement, which is BEFORE's in all trials"))
	}
}

// noStep is a reason that several differences have.
var noStep = lang.T("weir knows no step that sets it")

// ofMachine says how to try a setting of the whole machine.
func ofMachine(name string) lang.Text {
	if file := facts.SettingFile(name); file != "" {
		return lang.T("a setting of the whole machine, which weir does not change: set it in /%s or when the machine boots, run the study again, and compare", file)
	}
	return lang.T("a setting of the whole machine, which weir does not change: set it with sysctl(8), run the study again, and compare")
}

// reasons says, by the beginning of a fact's key, why a lab on this machine does not reproduce it.
var reasons = []struct {
	keys []string
	why  lang.Text
}{
	{strings.Fields("kernel kernelVersion distribution machine"), lang.T("another kernel: compare them in virtual machines (weir bisect kernels)")},
	{strings.Fields("cpu cpus smt governors hypervisor guest product memory cpuLimit clocksource mitigations"), lang.T("of the machine: run the study on each, and compare")},
	{strings.Fields("devices"), lang.T("a device of the machine, which the lab does not have")},
	{strings.Fields("weir rootless"), lang.T("of weir itself: measure both with one version, and compare")},
}

// ofHost sorts a fact of a machine.
func (c *comparison) ofHost(rest string, d facts.Difference) {
	kind, key, _ := strings.Cut(rest, ".")
	if kind == "sysctls" || kind == "settings" {
		c.ofKernel(key, d)
		return
	}
	for _, r := range reasons {
		if slices.Contains(r.keys, kind) {
			c.cannot(d.Key, d.Values[0], d.Values[1], r.why)
			return
		}
	}
	c.cannot(d.Key, d.Values[0], d.Values[1], noStep)
}

// ofKernel sorts a kernel setting of a machine.
func (c *comparison) ofKernel(key string, d facts.Difference) {
	onPath := func(r Run) bool {
		if r.Path != nil {
			for _, p := range r.Path.Places {
				if _, ok := p.Sysctl[key]; ok {
					return true
				}
			}
		}
		return false
	}
	switch namespaced := ofNamespace(key); {
	case !namespaced:
		c.cannot(d.Key, d.Values[0], d.Values[1], ofMachine(key))
	case onPath(c.a) && onPath(c.b): // the values that held on the path are compared themselves
		if !c.has(key) {
			c.cannot(d.Key, d.Values[0], d.Values[1], lang.T("it did not reach the path, where it was the same in both runs"))
		}
	default:
		c.cannot(d.Key, d.Values[0], d.Values[1], lang.T("the runs did not record whether it held on the path: a new network namespace can have the kernel's default"))
	}
}

func (c *comparison) has(name string) bool {
	return slices.ContainsFunc(c.out.Settings, func(s Setting) bool { return s.Name == name })
}

// ofNamespace reports whether each network namespace has its own value of a sysctl, as far as the name tells.
func ofNamespace(key string) bool {
	for _, prefix := range []string{"net.ipv4.", "net.ipv6.", "net.bridge.", "net.netfilter."} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// congestion is the factor of TCP's probes that chooses the congestion control of their sockets. A network namespace
// accepts only some of them as its default (tcp_set_default_congestion_control, net/ipv4/tcp_cong.c), a socket all.
const (
	congestion    = "cc"
	congestionKey = "net.ipv4.tcp_congestion_control"
)

func congestionControl(before, after string) Setting {
	return Setting{Name: congestionKey, Before: before, After: after, factor: congestion}
}

// Defaults returns the settings of a machine, at these places, that differ from the kernel's defaults. The defaults are
// BEFORE.
func Defaults(of facts.Facts, places []string) (d Differences) {
	for _, name := range slices.Sorted(maps.Keys(of.Settings)) {
		s := of.Settings[name]
		standard, _, _ := strings.Cut(s.Default, " or ")
		if name == plan.DefaultRPS || !ofNamespace(name) {
			d.Unapplied = append(d.Unapplied, Unapplied{name, s.Default, s.Value, ofMachine(name)})
			continue
		}
		if name == congestionKey {
			d.Settings = append(d.Settings, congestionControl(standard, s.Value))
			continue
		}
		x := Setting{Name: name, Places: places, Before: standard, After: s.Value}
		for _, in := range places {
			x.from = append(x.from, sysctl(in, name, standard))
			x.to = append(x.to, sysctl(in, name, s.Value))
		}
		d.Settings = append(d.Settings, x)
	}
	return d
}

func sysctl(in, key, value string) plan.Step {
	return plan.Step{In: in, Sysctl: &plan.Sysctl{Key: key, Value: strings.Join(strings.Fields(value), " ")}}
}
