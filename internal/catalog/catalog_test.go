package catalog

import (
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/studies"
)

func TestNetworks(t *testing.T) {
	for _, name := range Names(Networks) {
		n, err := FindNetwork(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []topo.Spec{{}, {Hosts: 1}, {Hosts: 3, Pods: 2}, {IPv6: true, PodsIPv6: true}, {Rate: 1e9, NIC: topo.NICTSO}} {
			d := n.New()
			if v, ok := d.(*network.Via); ok {
				v.Dev = "wg0"
			}
			topology, err := topo.New(n.Spec(d, s))
			topology.Exists = n.Model == Found
			if err == nil {
				_, err = network.Build(d, topology)
			}
			only4 := err != nil && s.IPv6 && strings.Contains(err.Error(), "IPv") // says so
			unlimited := err != nil && s.Rate > 0 && strings.Contains(err.Error(), "bypass queueing disciplines")
			if err != nil && s.Hosts != 1 && !only4 && !unlimited { // some need two
				t.Errorf("%s on %+v: %v", name, s, err)
			}
		}
		fresh(t, name, n.New(), n.New())
	}
}

func TestProbes(t *testing.T) {
	titles := map[string]string{}
	for _, name := range Names(Probes) {
		p, err := FindProbe(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, client := p.Commands(probe.Window{Duration: time.Second}); len(client) == 0 {
			t.Errorf("%s has no client", name)
		}
		i := p.Info()
		if i.Title == "" || i.Short == "" || i.About == "" || i.Unit == "" || (i.Differs != "") != (i.Measures != "") || i.Takes > i.AtMost {
			t.Errorf("%s does not describe itself: %+v", name, i)
		}
		if titles[i.Title] != "" {
			t.Errorf("%s has the title of %s, %q", name, titles[i.Title], i.Title)
		}
		titles[i.Title] = name
		fresh(t, name, p, Probes[name]())
	}
	var programs []string
	for _, tool := range Tools() {
		programs = append(programs, tool.Program)
		if tool.Package == "" {
			t.Errorf("%s: no package to install", tool.Program)
		}
	}
	if !slices.Contains(programs, "iperf3") || !slices.Contains(programs, "ovs-vswitchd") || slices.Contains(programs, "weir") {
		t.Errorf("programs are %v: want iperf3 and ovs-vswitchd among them and not weir", programs)
	}
}

func fresh(t *testing.T, name string, a, b any) {
	t.Helper()
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s: two instances differ: %+v, %+v", name, a, b)
	}
	if v := reflect.ValueOf(a); v.Kind() != reflect.Pointer || v.Elem().NumField() > 0 && v.Pointer() == reflect.ValueOf(b).Pointer() {
		t.Errorf("%s: two instances are the same, or not pointers", name)
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		of   any
		want []string
	}{
		{&network.Host{}, nil},
		{&network.VXLAN{}, []string{"port", "vni"}},
		{&probe.UDPStream{}, []string{"batch", "packets", "rate", "rcvbuf", "recv", "send", "size", "sndbuf", "streams"}},
		{&probe.Ping{}, []string{"interval", "size"}},
	} {
		if got := strictyaml.Keys(c.of); !slices.Equal(got, c.want) {
			t.Errorf("%T: %v, want %v", c.of, got, c.want)
		}
	}
	if !Applies("ping", "mtu") || !Applies("udp-rr", "size") || Applies("tcp-rr", "interval") || Applies("nonsense", "size") {
		t.Error("a condition applies to all probes, an option to those that have it")
	}
}

func TestShippedStudies(t *testing.T) {
	files, err := fs.Glob(studies.FS, "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		b, err := fs.ReadFile(studies.FS, f)
		if err != nil {
			t.Fatal(err)
		}
		s, err := study.Load(b, f)
		if strings.HasSuffix(f, "cluster.yaml") {
			s.Target.Kube = &study.Kube{}
		}
		if err == nil {
			_, err = Prepare(s, topo.Kernel{})
		}
		if err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// Every shipped claim names cells that its study measures, or Missing names what this version
// lacks.
func TestShippedClaims(t *testing.T) {
	claims, err := claim.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	testable := 0
	for _, c := range claims {
		part := Available(c.Study)
		complete := true
		for _, x := range c.Cells() {
			cell := study.Cell{Network: x.Network, Probe: x.Probe, Levels: x.Levels}
			if err := Missing(c.Study, cell); err != nil {
				complete = false
				continue
			}
			if !slices.ContainsFunc(part.Cells(Applies), func(y study.Cell) bool {
				return y.Network == cell.Network && y.Probe == cell.Probe && maps.Equal(y.Levels, cell.Levels)
			}) {
				t.Errorf("%s: study %s does not measure %s: a cell names every factor that applies to its probe", c.ID, c.Study.Name, x)
			}
		}
		if !complete {
			continue
		}
		testable++
		for _, s := range []study.Study{part, part.Faster()} {
			if _, err := Prepare(s, topo.Kernel{}); err != nil {
				t.Errorf("%s: %v", c.ID, err)
			}
			if err := s.Validate(); err != nil {
				t.Errorf("%s: %v", c.ID, err)
			}
		}
	}
	if testable < 25 {
		t.Errorf("%d claims can be tested", testable)
	}
}

func TestAvailable(t *testing.T) {
	s, err := study.Load([]byte("networks: [warp, host, {use: vxlan, name: v}]\nprobes: [ping, telepathy, udp-rr]\nfactors: {mtu: [1500, 9000], size: [64], color: [red]}\ncompare: [{to: {network: warp}}, {to: {mtu: 1500}, in: {network: [warp, host]}}]\n"), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	part := Available(s)
	if err := part.Validate(); err != nil {
		t.Error(err)
	}
	if len(part.Compare) != 1 || part.Compare[0].String() != "{to: {mtu: 1500}, in: {network: host}}" || len(s.Compare) != 2 {
		t.Errorf("comparisons %v of %v", part.Compare, s.Compare)
	}
	if len(part.Networks) != 2 || part.Baseline != "host" || len(part.Probes) != 2 || len(part.Factors) != 2 || len(s.Factors) != 3 {
		t.Errorf("%+v", part)
	}
	for _, c := range []struct {
		cell study.Cell
		want string
	}{
		{study.Cell{Network: "host", Probe: "ping"}, ""},
		{study.Cell{Network: "v", Probe: "udp-rr", Levels: map[string]string{"mtu": "1500", "size": "64"}}, ""},
		{study.Cell{Network: "warp", Probe: "ping"}, `this version has no network "warp"`},
		{study.Cell{Network: "v", Probe: "telepathy"}, `this version has no probe "telepathy"`},
		{study.Cell{Network: "v", Probe: "ping", Levels: map[string]string{"color": "red"}}, `this version has no factor "color" of ping`},
	} {
		err := Missing(s, c.cell)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%+v: %v, want %q", c.cell, err, c.want)
		}
	}
}

// Prepare finds mistakes with their positions before anything is built.
func TestPrepareRefuses(t *testing.T) {
	for _, c := range []struct{ name, yaml, want string }{
		{"network", "networks: [vxlna]\nprobes: [ping]", `s.yaml:1: unknown network "vxlna"; did you mean "vxlan"? weir list networks lists all`},
		{"probe", "networks: [host]\nprobes:\n- pong", `s.yaml:3: unknown probe "pong"; did you mean "ping"? weir list probes lists all`},
		{"option", "networks:\n- use: vxlan\n  vnj: 7\nprobes: [ping]", `s.yaml:3: vxlan has no option "vnj"`},
		{"value", "networks:\n- {use: vxlan, vni: seven}\nprobes: [ping]", "s.yaml:2: vxlan: vni"},
		{"bound", "networks:\n- {use: vxlan, vni: 16777216}\nprobes: [ping]", "16777216"},
		{"factor like a condition", "networks: [host]\nprobes: [ping]\nfactors: {mut: [1500]}", `unknown factor "mut"; did you mean "mtu"? weir list factors lists all`},
		{"factor like an option", "networks: [host]\nprobes: [udp-rr]\nfactors: {sise: [100]}", `unknown factor "sise"; did you mean "size"?`},
		{"factor", "networks: [host]\nprobes: [ping]\nfactors: {color: [red]}", `unknown factor "color": want a condition (bridge-nf, clients, delay, ends, event, gro, jitter, link, load, loss, mtu, nic, offload, rps, stress) or an option`},
		{"factor of another probe", "networks: [host]\nprobes: [ping]\nfactors: {streams: [1, 2]}", `factor "streams"`},
		{"level", "networks: [host]\nprobes: [ping]\nfactors: {offload: [maybe]}", `condition offload: level "maybe" is unknown`},
		{"level of a load", "networks: [host]\nprobes: [ping]\nfactors:\n  load: [udp-rate@0%]", `s.yaml:4: condition load: "udp-rate@0%": the share`},
		{"load that is none", "networks: [host]\nprobes: [ping]\nfactors:\n  load: [iperf3-tcp]", `s.yaml:4: condition load: iperf3-tcp cannot be a background load; use a native probe`},
		{"load without a rate", "networks: [host]\nprobes: [ping]\nfactors:\n  load: [tcp-rr@5%]", `s.yaml:4: condition load: "tcp-rr@5%": TCP request/response cannot be held to a rate; use one of tcp-stream, udp-gso, udp-rate, udp-stream`},
		{"stress", "networks: [host]\nprobes: [ping]\nfactors:\n  stress: [lots]", `s.yaml:4: condition stress: invalid level "lots": want 0`},
		{"clients", "networks: [host]\nprobes: [udp-rr]\nfactors:\n  clients: [0]", `s.yaml:4: condition clients: invalid number of clients "0": want 1 to`},
		{"clients of a tool", "networks: [host]\nprobes: [iperf3-tcp]\nhosts: 9\nfactors:\n  clients: [1]", `s.yaml:5: condition clients: iperf3-tcp cannot have several clients; use a native probe`},
		{"clients without hosts", "networks: [host]\nprobes: [udp-rr]\nfactors:\n  clients: [1, 9]", `s.yaml:4: condition clients: 9 clients need 10 hosts, one each and one for the server, but host has 2; set hosts: 10`},
		{"clients on one host", "networks: [host, bridge]\nprobes: [udp-rr]\nhosts: 10\nfactors:\n  clients: [1, 9]", `s.yaml:5: condition clients: 9 clients need 10 hosts, one each and one for the server, but bridge has 1`},
		{"clients under load", "networks: [host]\nprobes: [udp-rr]\nhosts: 3\nfactors:\n  load: [idle, udp-rate]\n  clients: [1, 2]", `s.yaml:6: condition clients: 2 clients and a background load of udp-rate`},
		{"ends of no network", "networks: [host, vxlan]\nprobes: [ping]\nfactors:\n  ends: [pod-host]", `s.yaml:4: condition ends: "pod-host": vxlan: the network has no such ends: no end is labeled pod; the labels are vxlan, host`},
		{"pairs of other hosts", "networks: [host, bridge]\nprobes: [ping]\npairs: all", "s.yaml:1: pairs: all: the study has 2 hosts and bridge takes 1, but all networks must have the same pairs"},
		{"pairs of a line", "networks: [host, {use: vxlan-hops, hops: 3}]\nprobes: [ping]\nhosts: 4\npairs: all", "s.yaml:1: pairs: all: in vxlan-hops packets pass through the hosts between two others, so pairs interfere; add one-at-a-time"},
		{"pairs under load", "networks: [host]\nprobes: [ping]\npairs: all\nfactors: {load: [tcp-rr], mtu: [1500], stress: ['0']}", "pairs: all: factor load adds a background to one pair of ends; leave it out, or measure one pair\npairs: all: factor stress adds"},
		{"level of an option", "networks: [host]\nprobes: [udp-rr]\nfactors: {size: [many]}", "size"},
		{"comparison of another probe", "networks: [host]\nprobes: [ping, udp-stream]\nfactors: {packets: [1, 2]}\ncompare:\n- {to: {packets: 1}, in: {probe: ping}}", "s.yaml:5: compare: factor packets does not apply to ping: no two cells differ in it"},
		{"cluster's network", "networks: [host, service]\nprobes: [ping]", "s.yaml:1: service exists on machines of yours, and weir does not build it; add --kube, or use another network (-n), such as vxlan-overlay"},
		{"machines' network", "networks: [host, {use: via, dev: wg0}]\nprobes: [ping]", "s.yaml:1: via exists on machines of yours, and weir does not build it; add --ssh or --kube, or"},
		{"network to build over SSH", "networks: [host, vxlan]\nprobes: [ping]\ntarget: {ssh: [a, b]}", "s.yaml:1: vxlan is not a network of this target, where weir builds none; replace it (-n) by one of host, via, or leave out --ssh"},
		{"pods over SSH", "networks: [host, pod]\nprobes: [ping]\ntarget: {ssh: [a, b]}", "s.yaml:1: pod is not a network of this target, where weir builds none; replace it (-n) by one of host, via, or leave out --ssh"},
		{"network to build in a cluster", "networks: [vxlan]\nprobes: [ping]\ntarget: {kube: {}}", "s.yaml:1: vxlan is not a network of this target, where weir builds none; replace it (-n) by one of host, nodeport, pod, service, via, or leave out --kube"},
		{"no device", "networks: [via]\nprobes: [ping]\ntarget: {ssh: [a, b]}", "s.yaml:1: via: no device given: write {use: via, dev: wg0}"},
		{"no device's name", "networks: [{use: via, dev: a/b}]\nprobes: [ping]\ntarget: {ssh: [a, b]}", `s.yaml:1: via: invalid dev "a/b": want the name of a device`},
		{"one node", "networks: [host]\nprobes: [ping]\ntarget: {kube: {nodes: n1}}", "s.yaml:1: host: needs two ends, and the target has 1; name another machine, or measure between two pods of one (-n pod --pods 2)"},
		{"condition of machines", "networks: [host]\nprobes: [ping]\ntarget: {ssh: [a, b]}\nfactors:\n  mtu: [1500, 9000]", "s.yaml:5: factor mtu would change machines that are not weir's; change them yourself and compare two runs (weir compare), or vary it in the lab (without --ssh or --kube)"},
		{"level for one network", "networks: [host, vxlan-overlay]\nprobes: [ping]\nfactors: {mtu: [600]}", "vxlan-overlay: "},
	} {
		s, err := study.Load([]byte(c.yaml), "s.yaml")
		if err == nil {
			_, err = Prepare(s, topo.Kernel{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
			continue
		}
		if strings.Count(err.Error(), "s.yaml:") > 1 {
			t.Errorf("%s: one mistake has two places: %v", c.name, err)
		}
	}
}

// On a target, networks have nothing to build, and one node of a cluster gets two pods.
func TestPrepareForATarget(t *testing.T) {
	for src, hosts := range map[string]int{
		"networks: [host, {use: via, dev: wg0}]\nprobes: [ping]\nfactors: {stress: ['0', 50%], load: [idle, tcp-stream], ends: [host-host]}\ntarget: {ssh: [a, b, c]}":    3,
		"networks: [host, pod, service, nodeport]\nprobes: [ping]\nfactors: {ends: [pod-host, host-pod]}\nswap: true\ntarget: {kube: {nodes: all}}\npairs: all\nhosts: 2": 2,
		"networks: [pod, service]\nprobes: [ping]\ntarget: {kube: {nodes: n1}}":                                                                                           1,
	} {
		s, err := study.Load([]byte(src), "s.yaml")
		if err != nil {
			t.Fatal(err)
		}
		p, err := Prepare(s, topo.Kernel{})
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		for name, n := range p.Networks {
			pl, err := network.Build(n.Driver, n.Topology)
			if err != nil || len(pl.Steps) > 0 || len(n.Topology.Hosts) != hosts || !n.Topology.Exists || n.Topology.Segments != nil || !pl.Path.Found {
				t.Errorf("%s: %d steps, %d hosts, path %+v, %v", name, len(pl.Steps), len(n.Topology.Hosts), pl.Path, err)
			}
		}
	}
}

func TestPreparedProbe(t *testing.T) {
	s, err := study.Load([]byte(`
networks: [host]
probes: [{use: udp-stream, name: u, size: 100, rate: 1gbit}]
factors: {size: [200, 300], mtu: [1500, 9000]}
`), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prepare(s, topo.Kernel{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the study is not changed by asking
		got, err := p.Probe("u", map[string]string{"size": "300", "mtu": "9000"})
		if want := (&probe.UDPStream{Size: 300, Rate: 1e9}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		got, err = p.Probe("u", nil)
		if want := (&probe.UDPStream{Size: 100, Rate: 1e9}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := p.Probe("v", nil); err == nil || !strings.Contains(err.Error(), `no probe "v"`) {
		t.Errorf("error %v", err)
	}
}

// A background load is the study's probe with its options, or else the catalog's.
func TestPreparedLoad(t *testing.T) {
	s, err := study.Load([]byte(`
networks: [host]
probes: [ping, {use: udp-rate, name: small, size: 100}]
factors: {load: [idle, small, tcp-stream@50%], size: [200, 300]}
`), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prepare(s, topo.Kernel{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]probe.Probe{"small": &probe.UDPRate{Size: 100}, "tcp-stream": &probe.TCPStream{}, "udp-rate": &probe.UDPRate{}} {
		if got, err := p.Load(name); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
}

// A factor that names a condition sets the condition, so an option of the same name could not vary.
func TestNoOptionIsACondition(t *testing.T) {
	for name, p := range Probes {
		for _, key := range strictyaml.Keys(p()) {
			if slices.Contains(condition.Names(), key) {
				t.Errorf("option %s of %s has the name of a condition", key, name)
			}
		}
	}
}
