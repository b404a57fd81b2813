package catalog

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/topo"
)

var update = flag.Bool("update", false, "rewrite docs/networks.md and docs/probes.md")

const (
	startup = "../../docs/startup.csv"

	performance = "../../docs/performance.csv"
)

// docs/networks.md and its translations match the code.
func TestNetworksPage(t *testing.T) {
	chinese := translations(t)
	for page, got := range map[string][]byte{
		"../../docs/networks.md":       networksPage(t, english, "English | [简体中文](networks.zh-CN.md)"),
		"../../docs/networks.zh-CN.md": networksPage(t, chinese.say, "[English](networks.md) | 简体中文"),
	} {
		if *update {
			if err := os.WriteFile(page, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(page)
		if err != nil {
			t.Fatalf("%v (make golden writes it)", err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s does not match the code; run make golden and review the difference", page)
		}
	}
	chinese.stale()
	says := typeDocs(t, "../network")
	for _, name := range Names(Networks) {
		n := Networks[name]
		if !slices.Contains([]Model{Bridged, Routed, Overlay, Underlay, Found}, n.Model) || n.Addresses == "" || n.Isolation == "" || n.Discovery == "" || n.External == "" {
			t.Errorf("%s: properties %+v", name, n.Properties)
		}
		for _, o := range strictyaml.Keys(n.New()) {
			if says.option(english, n, o) == "" {
				t.Errorf("%s: the option %s has no description", name, o)
			}
		}
		if (n.Model == Found) == slices.Contains(n.Where(), network.InLab) {
			t.Errorf("%s is %s, in %v", name, n.Model, n.Where())
		}
		if n.Model == Found {
			continue
		}
		if p, _ := defaultPlan(t, n); (n.Model == Overlay) != (p.Path.Overhead > 0) {
			t.Errorf("%s is %s and adds %d bytes", name, n.Model, p.Path.Overhead)
		}
	}
}

func networksPage(t *testing.T, say sayer, languages string) []byte {
	b := &bytes.Buffer{}
	ready, measured, says := startups(t), ratios(t), typeDocs(t, "../network")
	head := func(of ...string) {
		for _, h := range of {
			fmt.Fprintf(b, "| %s ", say(h))
		}
		fmt.Fprintf(b, "|\n%s|\n", strings.Repeat("|---", len(of)))
	}
	fmt.Fprintf(b, "# %s\n\n%s\n\n", say("Networks"), languages)
	fmt.Fprint(b, say.paragraphs("Generated from the code by `make golden`; do not edit. MTUs and diagrams assume two hosts, or one if the network\n"+
		"takes no more, and an underlay of 1500 bytes. To look at a network, print its steps with `weir plan -n NAME`, or build\n"+
		"and keep it with `weir lab up -n NAME`.\n\n"))
	head("network", "model", "addresses", "isolation", "service discovery", "external access", "encapsulation", "MTU", "ready after", "performance")
	for _, name := range In(network.InLab) {
		n := Networks[name]
		p, _ := defaultPlan(t, n)
		fmt.Fprintf(b, "| [%s](#%s) | %s | %s | %s | %s | %s | %s | %d | %s | %s |\n", name, name,
			say(string(n.Model)), say(n.Addresses), say(n.Isolation), say(n.Discovery), say(n.External), overhead(say, p.Path), p.Path.MTU, ready(name),
			strings.NewReplacer("response", say("response"), ", ", say(", ")).Replace(measured(name)))
	}
	fmt.Fprint(b, say.paragraphs("\nReady after: median time from before the first namespace until the last step is done and all daemons are ready, as\n"+
		"measured by `make startup` (docs/startup.csv has the machine and the range). "+unmeasured+": not measured.\n\n"+
		"External access: how packets between pods and hosts outside of the network pass, as weir builds it; after a semicolon,\n"+
		"what products add.\n\n"+
		"Performance: throughput of TCP, packet rate of UDP and response time of TCP, divided by those of host, in the study\n"+
		"cni-comparison, as measured by `make results` (docs/performance.csv has the intervals); ~: no difference shown. For your own networks and machine:\n"+
		"`weir list networks --properties --from DIR`, with the directory of any run.\n\n"+
		"Networks that exist, on machines over [SSH](ssh.md) and in [Kubernetes](kubernetes.md), come [last](#networks-that-exist).\n\n"+
		"Every network that weir builds takes the option `also`: steps that follow its own, such as a fault or the remedy for one, in the form of\n"+
		"`weir plan --json`. Allowed are addr, link, offload, rate, route, rule, set (an MTU), sysctl (below net.), and exec of `nft` without options\n"+
		"and of `tc qdisc`, `tc class` and `tc filter`; nothing else, because a study can come from the Internet and weir can run as root.\n\n"+
		"    networks:\n      - vxlan-overlay\n      - use: vxlan-overlay\n        name: faulty\n        also:\n"+
		"          - {in: h1, offload: {dev: eth0, features: {tx-udp_tnl-segmentation: false, tx-udp_tnl-csum-segmentation: false}}}\n"+
		"          - {in: h2p1, exec: {argv: [nft, \"table inet f { chain c { type filter hook input priority 0; numgen random mod 100 < 3 drop; }; }\"]}}\n\n"+
		"Or on the command line: `weir run -n 'vxlan-overlay,{use: vxlan-overlay, name: faulty, also: [{in: h1, set: {dev: eth0, mtu: 1400}}]}'`.\n"+
		"Places are hosts (h1), pods (h1p1) and the switch between more than two hosts.\n"))
	for _, name := range In(network.InLab) {
		n := Networks[name]
		p, tp := defaultPlan(t, n)
		fmt.Fprintf(b, "\n## %s\n\n%s\n", name, says.about(say, name))
		fmt.Fprint(b, "```mermaid\n")
		from, to, err := p.Between("")
		if err == nil {
			err = p.Mermaid(b, from, to)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		fmt.Fprint(b, "```\n\n| | |\n|---|---|\n")
		row := func(what string, is []string) {
			if len(is) > 0 {
				fmt.Fprintf(b, "| %s | %s |\n", say(what), strings.Join(is, ", "))
			}
		}
		row("hosts", hosts(say, n))
		row("daemons", daemons(p))
		row("devices that weir creates", devices(p))
		row("ready after", readyRow(ready(name)))
		row("root", needsRoot(say, p))
		row("versions in every result", found(p))
		row("packages", packages(t, say, p))
		row("device files", opens(p))
		row("kernel features", ofKernel(p))
		for _, o := range strictyaml.Keys(n.New()) {
			fmt.Fprintf(b, "| %s | %s |\n", fmt.Sprintf(say("option `%s`"), o), says.option(say, n, o))
		}
		row("MTU of pods", []string{fmt.Sprintf(say("%d of %d"), p.Path.MTU, tp.MTU)})
		row("IPv6", tries(say, n, topo.Spec{IPv6: true, PodsIPv6: true}, false))
		row("factor `offload`, level off", tries(say, n, topo.Spec{}, true))
		row("bridges pass packets to netfilter", bridgesNF(t, say, n))
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n## %s\n\n%s", say("Programs that you must provide"), say.paragraphs(notIncluded), say("Networks that exist"), say.paragraphs(exist))
	head("network", "with", "what it measures", "options")
	existing(b, say, says)
	return b.Bytes()
}

// existing describes the networks that targets find.
func existing(b *bytes.Buffer, say sayer, says docs) {
	for _, name := range Names(Networks) {
		n := Networks[name]
		var with, options []string
		for _, w := range n.Where() {
			if w != network.InLab {
				with = append(with, fmt.Sprintf("`--%s`", w))
			}
		}
		for _, o := range strictyaml.Keys(n.New()) {
			options = append(options, fmt.Sprintf("`%s`: %s", o, says.option(say, n, o)))
		}
		if with == nil {
			continue
		}
		about := n.About
		if n.Model != Found {
			about = say(about)
		} else {
			about = strings.Join(strings.Fields(says.about(say, name)), " ")
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, strings.Join(with, ", "), about, strings.Join(options, "; "))
	}
}

// notIncluded describes programs that have no package.
const notIncluded = `**calico** is in no distribution. Its networks run the programs of the images calico/node and calico/cni, which must be in
/opt/calico or in the directory of the option dir; weir skips the networks without them. calico-bgp-datapath is the data
path without Calico's programs and without the rules that Felix adds: its cost is not Calico's.

**cilium** is in no distribution. Its networks run the agent of the image cilium/cilium, which must be in /opt/cilium or in the directory of the option dir; weir skips the networks without it.
tc-redirect is the mechanism of its host routing, with neither policies nor connections: its cost is not Cilium's. Antrea is not here: its agent reads its node and its pods from the API server of Kubernetes. Measure it in a cluster that uses it (weir run --kube).

**weave** is in no distribution, and 2.8.1 is its last release. Its source builds with go build -mod=vendor, a C compiler and libpcap. Its networks run the weaver in PATH; weir skips them without it.
`

const exist = "weir measures these and builds nothing: machines over [SSH](ssh.md) (`--ssh a,b`), pods and nodes of\n" +
	"[Kubernetes](kubernetes.md) (`--kube`). weir cannot know what headers they add, so reports show no overhead and no ceiling.\n" +
	"Their MTU is that of the devices at the ends; weir proves with packets that it holds along the path.\n\n"

func defaultPlan(t *testing.T, n Network) (plan.Plan, topo.Topology) {
	t.Helper()
	tp, err := topo.New(n.Spec(n.New(), topo.Spec{}))
	if err != nil {
		t.Fatal(err)
	}
	p, err := network.Build(n.New(), tp)
	if err != nil {
		t.Fatal(err)
	}
	return p, tp
}

func overhead(say sayer, p plan.Path) string {
	if n := p.Overhead + p.Tag; n > 0 {
		return fmt.Sprintf(say("%d bytes"), n)
	}
	return say("none")
}

func hosts(say sayer, n Network) []string {
	if n.Hosts > 0 {
		return []string{fmt.Sprint(n.Hosts)}
	}
	if tries(english, n, topo.Spec{Hosts: 1, Pods: 2}, false)[0] != "yes" {
		return []string{say("2 or more")}
	}
	return []string{say("1 or more")}
}

func tries(say sayer, n Network, s topo.Spec, noOffload bool) []string {
	tp, err := topo.New(n.Spec(n.New(), s))
	if err == nil {
		tp.NoOffload = noOffload
		_, err = network.Build(n.New(), tp)
	}
	if err != nil {
		_, why, _ := strings.Cut(err.Error(), ": ") // without the name of the network
		return []string{fmt.Sprintf(say("not supported: %s"), say(why))}
	}
	return []string{say("yes")}
}

// bridgesNF describes what the bridges of hosts do without the factor bridge-nf; nothing without
// bridges.
func bridgesNF(t *testing.T, say sayer, n Network) []string {
	p, tp := defaultPlan(t, n)
	state := ""
	for _, s := range p.Steps {
		if s.Sysctl != nil && strings.HasPrefix(s.Sysctl.Key, plan.BridgeNF) && s.In != network.Switch {
			state = say(map[string]string{"0": "off", "1": "on, as in the product"}[s.Sysctl.Value])
		}
	}
	tp.BridgeNF = topo.BridgeNFOff
	if _, err := network.Build(n.New(), tp); state != "" && err != nil {
		_, why, _ := strings.Cut(err.Error(), ": ")
		return []string{fmt.Sprintf(say("%s; off is not supported: %s"), state, say(why))}
	}
	if state == "" {
		return nil
	}
	return []string{state}
}

func daemons(p plan.Plan) []string {
	var names []string
	for _, s := range p.Steps {
		if s.Service != nil && !slices.Contains(names, s.Service.Name) {
			names = append(names, s.Service.Name)
		}
	}
	return names
}

func found(p plan.Plan) []string {
	var names []string
	for _, s := range p.Steps {
		if s.Exec != nil && s.Exec.Found != "" && !slices.Contains(names, "`"+s.Exec.Found+"`") {
			names = append(names, "`"+s.Exec.Found+"`")
		}
	}
	return names
}

// packages returns the packages of p's programs, and the sources of programs that make builds.
func packages(t *testing.T, say sayer, p plan.Plan) []string {
	t.Helper()
	mod, err := os.ReadFile("../../tools/flanneld/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	flannel := regexp.MustCompile(`flannel-io/flannel (v\S+)`).FindSubmatch(mod)
	if flannel == nil {
		t.Fatal("tools/flanneld/go.mod names no version of Flannel")
	}
	var names []string
	for _, tool := range facts.Tools() {
		switch {
		case !slices.Contains(p.Programs(), tool.Program):
		case tool.Program == "flanneld":
			names = append(names, fmt.Sprintf(say("%s %s by `%s`"), tool.Program, flannel[1], tool.Package))
		case strings.Contains(tool.Package, " "): // in no distribution
			names = append(names, say(tool.Package))
		default:
			names = append(names, tool.Package)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// devices returns the kinds of network devices in p's own steps. Daemons create others.
func devices(p plan.Plan) []string {
	var kinds []string
	for _, s := range p.Steps {
		if s.Link != nil {
			kinds = append(kinds, s.Link.Kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

func needsRoot(say sayer, p plan.Plan) []string {
	for _, s := range p.Steps {
		if s.Service != nil && s.Service.Root {
			return []string{fmt.Sprintf(say("needed to start %s; without it weir skips the network"), s.Service.Name)}
		}
	}
	return []string{say("not needed")}
}

func readyRow(after string) []string {
	if after == unmeasured {
		return nil
	}
	return []string{after}
}

// ofKernel returns the kernel features that p's daemons need in addition to the plan's.
func ofKernel(p plan.Plan) []string {
	return ofServices(p, func(s *plan.Service) []string { return s.Kernel })
}

func opens(p plan.Plan) []string {
	return ofServices(p, func(s *plan.Service) []string { return s.Opens })
}

func ofServices(p plan.Plan, what func(*plan.Service) []string) []string {
	var names []string
	for _, s := range p.Steps {
		if s.Service != nil {
			names = append(names, what(s.Service)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

const unmeasured = "–"
