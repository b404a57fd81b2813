package network_test

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// machines is what a target finds over SSH: the second machine's device has another MTU.
func machines() topo.Topology {
	return topo.Topology{Exists: true, MTU: 1500, Hosts: []topo.Host{
		{Name: "a", Dev: "eth0", Addr: netip.MustParsePrefix("192.0.2.1/24"), MTU: 9000},
		{Name: "b", Dev: "ens5", Addr: netip.MustParsePrefix("192.0.2.2/24"), MTU: 1500}}}
}

// cluster is what a target finds in Kubernetes.
func cluster() topo.Topology {
	service := netip.MustParseAddr("10.96.7.7")
	t := topo.Topology{Exists: true, MTU: 1450, Hosts: []topo.Host{
		{Name: "node1", Dev: "eth0", Addr: netip.MustParsePrefix("192.0.2.1/24"), MTU: 1500},
		{Name: "node2", Dev: "eth0", Addr: netip.MustParsePrefix("192.0.2.2/24"), MTU: 1500}}}
	for i, addr := range []string{"10.244.1.5/24", "10.244.2.9/24"} {
		t.Hosts[i].Pods = []topo.Pod{{Name: t.Hosts[i].Name + "p1", Addr: netip.MustParsePrefix(addr), Dev: "eth0", MTU: 1450,
			Call: service.Next(), Ports: map[uint16]uint16{5201: 30201}}}
	}
	return t
}

// The plans of networks that exist have no steps. Golden files hold ends, paths and expectations.
func TestFoundGolden(t *testing.T) {
	alone, apart, unknown := cluster(), cluster(), cluster()
	alone.Hosts = alone.Hosts[:1]
	alone.Hosts[0].Pods = append(alone.Hosts[0].Pods, topo.Pod{Name: "node1p2", Addr: netip.MustParsePrefix("10.244.1.6/24"), MTU: 1450})
	for i := range apart.Hosts { // no pod is admitted to the hosts' network
		apart.Hosts[i].Addr, apart.Hosts[i].Dev, apart.Hosts[i].MTU = netip.Prefix{}, "", 0
		unknown.Hosts[i].Pods[0].MTU = 0
	}
	for name, c := range map[string]struct {
		d network.Driver
		t topo.Topology
	}{
		"host.found":         {&network.Host{}, machines()},
		"via.found":          {&network.Via{Dev: "wg0"}, machines()},
		"pod.found":          {&network.PodNetwork{}, cluster()},
		"pod.found-one-node": {&network.PodNetwork{}, alone},
		"pod.found-apart":    {&network.PodNetwork{}, apart},
		"pod.found-unknown":  {&network.PodNetwork{}, unknown},
		"service.found":      {&network.ClusterIP{}, cluster()},
		"nodeport.found":     {&network.NodePort{}, cluster()},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := network.Build(c.d, c.t)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := p.Encode(&got); err != nil {
				t.Fatal(err)
			}
			golden(t, name, got.Bytes())
			if _, _, err := p.Between(""); err != nil || len(p.Steps) > 0 {
				t.Errorf("%d steps; ends: %v", len(p.Steps), err)
			}
		})
	}
}

// Between two labels, the smaller MTU counts.
func TestFoundPaths(t *testing.T) {
	p, err := network.Build(&network.PodNetwork{}, cluster())
	if err != nil {
		t.Fatal(err)
	}
	for pair, mtu := range map[string]int{"pod-pod": 1450, "pod-host": 1450, "host-pod": 1450, "host-host": 1500} {
		client, server, err := p.Between(pair)
		if err != nil || client.Host == server.Host {
			t.Errorf("%s: %v, %v, %v", pair, client, server, err)
		}
		if got := p.On(client, server).Path; got != (plan.Path{MTU: mtu, Found: true}) {
			t.Errorf("%s: %+v, want MTU %d", pair, got, mtu)
		}
	}
}

// What weir finds it does not build, and what it builds is the lab's only, except for plain hosts.
func TestWhere(t *testing.T) {
	for _, d := range []network.Driver{&network.Via{Dev: "wg0"}, &network.PodNetwork{}, &network.ClusterIP{}, &network.NodePort{}} {
		_, err := network.Build(d, topology(t, topo.Spec{}))
		if err == nil || !strings.Contains(err.Error(), "weir does not build this network") || slices.Contains(network.WhereIs(d), network.InLab) {
			t.Errorf("%T in the lab: %v", d, err)
		}
	}
	if got := network.WhereIs(&network.VXLAN{}); !slices.Equal(got, []network.Where{network.InLab}) {
		t.Errorf("a VXLAN is in %v", got)
	}
	one := machines()
	one.Hosts = one.Hosts[:1]
	if _, err := network.Build(&network.Host{}, one); err == nil || !strings.Contains(err.Error(), "needs two ends") {
		t.Errorf("one machine: %v", err)
	}
}
