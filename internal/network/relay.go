package network

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Relay connects the pods of a line of hosts through user space. Every host has a bridge with its
// pods and a TAP device, and a program (`weir relay`) that sends the device's frames to its
// neighbors over UDP, several per datagram if they arrive close together. Hosts between the ends
// forward in the program. This is the mechanism of Weave's sleeve, but not its code.
//
// With delay, a segment acts as a long wire for everything that passes it.
type Relay struct {
	Hops    int           `yaml:"hops"`    // 1 to 5, one less than hosts
	Encrypt bool          `yaml:"encrypt"` // seal frames with NaCl's box
	Wait    time.Duration `yaml:"wait"`    // how long a frame waits for others, 0 to 1 s; 0: while more can be read at once
	Port    int           `yaml:"port"`    // UDP port of every host, 1 to 65535
	Delay   Delays        `yaml:"delay"`   // of every segment, or a list with one for each: 0 to 1 s, each way
}

func (n Relay) Shape(s topo.Spec) topo.Spec { return line(s, n.Hops, n.Delay) }

const (
	relayDev = "relay0"
	// relayReady is the line that the program prints once everything is open.
	relayReady = "relay: ready"
)

func (n Relay) Plan(t topo.Topology) (plan.Plan, error) {
	overhead, shared := n.overhead(t)
	p, err := newPlan("relay", t, 2, overhead, checkLine("relay", t, n.Hops, n.Delay), checkPort("relay", n.Port),
		refuse(n.Wait < 0 || n.Wait > time.Second, fmt.Sprintf("relay: invalid wait %v: want 0 to 1s", n.Wait)))
	if err != nil {
		return plan.Plan{}, err
	}
	mtu := p.Path.MTU
	p.Path.Shared = shared
	for i, h := range t.Hosts {
		p.Steps = append(p.Steps, attach(t, h, mtu)...)
		p.Steps = append(p.Steps,
			plan.Step{In: h.Name, Forwards: forwards("a program", append([]string{relayDev}, nics(t, h)...)...), Link: &plan.Link{Name: relayDev, Kind: "tap", MTU: mtu, Master: bridgeDev}},
			plan.Step{In: h.Name, Service: &plan.Service{Name: "relay", Argv: n.argv(t, i), Ready: plan.Ready{Line: relayReady}, Carries: true}})
		p.Expect = append(p.Expect, expectTunnel(h.Name, relayDev, mtu))
	}
	p = expect(t, p)
	for i, e := range p.Expect {
		p.Expect[i].Joined = len(e.Side) > 0 // a device of the underlay
	}
	return p, nil
}

func (n Relay) argv(t topo.Topology, i int) []string {
	argv := []string{"weir", "relay", relayDev}
	for s, ports := range t.Segments { // segment s has hosts s and s+1
		ends := [2]netip.Addr{ports[0].Addr.Addr(), ports[1].Addr.Addr()}
		if i == s+1 {
			ends[0], ends[1] = ends[1], ends[0]
		}
		if i == s || i == s+1 {
			argv = append(argv, "--neighbour", fmt.Sprintf("%v,%v", netip.AddrPortFrom(ends[0], uint16(n.Port)), netip.AddrPortFrom(ends[1], uint16(n.Port))))
		}
	}
	if n.Encrypt {
		argv = append(argv, "--encrypt")
	}
	if n.Wait > 0 {
		argv = append(argv, "--wait", n.Wait.String())
	}
	return argv
}

// overhead returns the bytes that the relay adds to an IP packet of a pod, and how many of them the
// frames of one datagram share (package relay, wire.go).
func (n Relay) overhead(t topo.Topology) (all, shared int) {
	const kind, length, counter, tag = 1, 2, 8, 16
	shared = udpHeaders(t) + kind
	if n.Encrypt {
		shared += counter + tag
	}
	return shared + length + plan.EthernetHeader, shared
}
