package network_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// drivers holds every network that weir builds with its default options, so that a network added to
// the catalog is tested here, plus options that build something different.
var drivers = func() map[string]network.Driver {
	ds := map[string]network.Driver{}
	for _, name := range catalog.In(network.InLab) {
		ds[name] = catalog.Networks[name].New()
	}
	ds["docker-bridge-docker0"] = &network.DockerBridge{Bridge: "docker0"}
	ds["docker-overlay-etcd"] = &network.DockerOverlay{Control: "etcd"}
	ds["docker-overlay-encrypted"] = &network.DockerOverlay{Control: "swarm", Encrypted: true}
	ds["ovs-internal"] = &network.OVS{Datapath: "netdev", Interface: "internal"}
	ds["ovs-vxlan-internal"] = &network.OVSVXLAN{Datapath: "netdev", Interface: "internal", VNI: 1, Port: 4789}
	for _, plugin := range []string{"ptp", "macvlan"} {
		ds["cni-"+plugin] = &network.CNI{Plugin: plugin}
	}
	ds["cni-conflist"] = &network.CNI{Conflist: `{"cniVersion": "0.4.0", "name": "mine", "plugins": [
		{"type": "bridge", "bridge": "mybr", "isGateway": true, "ipam": {"type": "static"}},
		{"type": "tuning", "sysctl": {"net.core.somaxconn": "500"}}]}`}
	ds["calico-rules"] = &network.CalicoNode{Mode: "vxlan", Filter: "nftables", Dir: "/opt/calico", Rules: 2}
	ds["service-iptables-legacy"] = &network.ServiceRules{Mode: "iptables-legacy", Services: 1}
	ds["two-paths-bfd"] = &network.TwoPaths{Routes: "bgp", Hold: 9, BFD: true}
	ds["routed-rules"] = &network.Routed{Rules: 3}
	ds["flannel-vxlan-masq"] = &network.FlannelVXLAN{VNI: 7, Port: 4789, Masq: true}
	ds["proxy-l7-mtls"] = &network.Proxy{Program: network.HAProxy, L7: true, At: network.ProxyBoth, MTLS: true, Threads: 2}
	ds["proxy-l4-envoy"] = &network.Proxy{Program: network.Envoy, At: network.ProxyBoth, Threads: 2}
	ds["proxy-l7-envoy-mtls"] = &network.Proxy{Program: network.Envoy, L7: true, At: network.ProxyBoth, MTLS: true, Threads: 2}
	ds["vm-vxlan-ovs"] = &network.VMVXLAN{Switch: "ovs", VNI: 1, Port: 4789, VM: network.VM{CPUs: 1, Queues: 1, VHost: "auto", Memory: 256 << 20}}
	ds["vm-vlan-bridge"] = &network.VMVLAN{Switch: "bridge", Tag: 42, VM: network.VM{CPUs: 2, Queues: 2, VHost: "off", Memory: 1 << 30}}
	return ds
}()

var specs = map[string]topo.Spec{
	"1host":         {Hosts: 1},
	"1host-2pods":   {Hosts: 1, Pods: 2},
	"2hosts":        {Hosts: 2},
	"2hosts-2pods":  {Hosts: 2, Pods: 2},
	"3hosts":        {Hosts: 3},
	"ipv6-pods":     {Hosts: 2, PodsIPv6: true},
	"ipv6-underlay": {Hosts: 2, IPv6: true},
	"ipv6":          {Hosts: 2, IPv6: true, PodsIPv6: true},
	"mtu-low":       {Hosts: 2, MTU: 576},
	"mtu-low-ipv6":  {Hosts: 2, MTU: 1280, PodsIPv6: true},
}

// shaped returns the topology of s in the shape that the driver called name needs.
func shaped(t *testing.T, name string, s topo.Spec) topo.Topology {
	t.Helper()
	return topology(t, network.Shape(drivers[name], s))
}

func topology(t *testing.T, s topo.Spec) topo.Topology {
	t.Helper()
	tp, err := topo.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test ./internal/network -update writes it)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%swant\n%s", file, got, want)
	}
}

// Every driver has a golden plan, or a golden error, for every topology.
func TestPlanGolden(t *testing.T) {
	for _, d := range slices.Sorted(maps.Keys(drivers)) {
		for _, s := range slices.Sorted(maps.Keys(specs)) {
			t.Run(d+"/"+s, func(t *testing.T) {
				var got bytes.Buffer
				p, err := drivers[d].Plan(shaped(t, d, specs[s]))
				if err != nil {
					got.WriteString("error: " + err.Error() + "\n")
				} else if err := p.Encode(&got); err != nil {
					t.Fatal(err)
				}
				golden(t, d+"."+s, got.Bytes())
			})
		}
	}
}

// Golden files hold whole plans and commands of some networks, and topologies with every option.
func TestBuildGolden(t *testing.T) {
	plain := topology(t, topo.Spec{Hosts: 2})
	rich := topology(t, topo.Spec{Hosts: 3, Rate: 1e9, NIC: topo.NICTSO, IPv6: true, PodsIPv6: true})
	rich.NoOffload = true
	kernel := topology(t, topo.Spec{Hosts: 2, Kernel: topo.Kernel{OVS: true}})
	vlan := topology(t, topo.Spec{Hosts: 2, Kernel: topo.Kernel{VLAN: true}})
	vlan.NoOffload = true
	joining, apart := topology(t, topo.Spec{Hosts: 2}), vlan
	joining.GRO, joining.NoOffload, apart.GRO = topo.GROOn, true, topo.GROOff
	steered, some := topology(t, topo.Spec{Hosts: 3}), vlan
	steered.RPS, some.RPS = topo.RPSAll, "fffffffff" // 36 CPUs
	delay := network.Delays{1500 * time.Microsecond, 0}
	line := topology(t, topo.Spec{Hosts: 3, Shape: topo.Line, Delays: delay})
	far := topo.Spec{Rate: 1e9, Distance: topo.Distance{Delay: 500 * time.Microsecond, Jitter: 50 * time.Microsecond, Loss: 0.001}}
	vpc, farLine := network.Shape(drivers["terway"], far), topo.Spec{Hosts: 3, Shape: topo.Line, Far: true}
	for name, c := range map[string]struct {
		d network.Driver
		t topo.Topology
	}{
		"build.host-apart":     {drivers["host"], topology(t, far)},
		"build.terway-bridge":  {&network.Terway{Bridge: true}, topology(t, network.Shape(drivers["terway"], topo.Spec{}))},
		"build.terway-apart":   {drivers["terway"], topology(t, vpc)},
		"build.relay-apart":    {&network.Relay{Hops: 2, Port: 6783}, topology(t, farLine)},
		"build.vxlan-overlay":  {drivers["vxlan-overlay"], plain},
		"build.routed":         {drivers["routed"], rich},
		"build.calico-bgp":     {drivers["calico-bgp-datapath"], plain},
		"build.calico":         {drivers["calico"], plain},
		"build.docker-overlay": {drivers["docker-overlay"], plain},
		"build.cni-ptp":        {drivers["cni-ptp"], rich},
		"build.cni-dir":        {&network.CNI{Plugin: "macvlan", Dir: "/opt/plugins"}, plain},
		"build.cni-mtu":        {&network.CNI{Conflist: `{"cniVersion": "1.0.0", "name": "small", "plugins": [{"type": "ptp", "mtu": 1400}]}`}, plain},
		"build.canal":          {&network.Canal{VNI: 1, Port: 8472, Rules: 2}, plain},
		"build.ovs-system":     {drivers["ovs-vxlan"], kernel},
		"build.ovs-vxlan":      {drivers["ovs-vxlan"], plain},
		"build.relay-far":      {&network.Relay{Hops: 2, Port: 6783, Delay: delay}, line},
		"build.vxlan-hops-far": {&network.VXLANHops{Hops: 2, VNI: 1, Port: 4789, Delay: delay}, line},
		"build.weave-far":      {&network.Weave{Mode: network.WeaveSleeve, Hops: 2, Delay: delay}, line},
		"build.vm-vxlan":       {drivers["vm-vxlan"], plain},
		"build.vm-overlay":     {drivers["vm-overlay"], topology(t, topo.Spec{Hosts: 2, Pods: 2, Rate: 1e9, Shape: topo.Guests})},
		"build.routed-rps":     {drivers["routed"], steered},
		"build.vm-vlan-rps":    {drivers["vm-vlan"], some},
		"build.vm-vlan":        {drivers["vm-vlan"], vlan},
		"build.vm-vlan-no-gro": {drivers["vm-vlan"], apart},
		"build.vxlan-gro":      {drivers["vxlan-overlay"], joining},
		"build.netkit":         {drivers["netkit"], plain},
		"build.netkit-program": {&network.Netkit{Mode: "l2", Program: true}, plain},
		"build.xdp-redirect":   {drivers["xdp-redirect"], topology(t, topo.Spec{Hosts: 3})},
		"build.service-ipvs":   {&network.ServiceRules{Mode: "ipvs", Services: 3}, plain},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := network.Build(c.d, c.t)
			if err != nil {
				t.Fatal(err)
			}
			var lines, script bytes.Buffer
			if err := p.Encode(&lines); err != nil {
				t.Fatal(err)
			}
			golden(t, name, lines.Bytes())
			if err := p.Shell(&script, network.Places(c.t)); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".sh", script.Bytes())
		})
	}
}

// whole returns every plan of drivers and specs, with and without the options of a topology.
func whole(t *testing.T, each func(name string, p plan.Plan, tp topo.Topology)) {
	t.Helper()
	n := 0
	for _, d := range slices.Sorted(maps.Keys(drivers)) {
		for _, s := range slices.Sorted(maps.Keys(specs)) {
			for _, nic := range []topo.NIC{topo.NICFull, topo.NICTSO, topo.NICNone} {
				tp := shaped(t, d, specs[s])
				tp.NIC, tp.NoOffload = nic, nic == topo.NICNone
				if nic != topo.NICFull {
					tp.Rate = 1e9
				}
				if p, err := network.Build(drivers[d], tp); err == nil {
					each(d+"/"+s+"/"+string(nic), p, tp)
					n++
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("built only %d plans", n)
	}
}

// The same topology gives the same plan twice, and the difference has no steps.
func TestPlansAreReproducible(t *testing.T) {
	whole(t, func(name string, p plan.Plan, tp topo.Topology) {
		d, _, _ := strings.Cut(name, "/")
		again, err := network.Build(drivers[d], tp)
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%s: plans differ: %v", name, err)
		}
		if steps, err := plan.Diff(p, again); err != nil || len(steps) != 0 {
			t.Errorf("%s: steps %v, error %v", name, steps, err)
		}
	})
}

// Traffic between hosts does not use the tunnels of their pods.
func TestTunnelsCarryOnlyPods(t *testing.T) {
	tp := topology(t, specs["2hosts"])
	for name, d := range drivers {
		p, err := d.Plan(tp)
		if err != nil || len(p.Labeled(plan.Pod)) == 0 {
			continue
		}
		for _, e := range p.Expect {
			if e.MustCarry && e.Across && len(e.Dev) > 0 && !strings.HasPrefix(e.Dev, "eth") && e.Near != plan.Pod {
				t.Errorf("%s: %s of %s is expected to carry traffic between hosts", name, e.Dev, e.In)
			}
		}
	}
}
