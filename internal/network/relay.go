package network

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Relay connects the pods of a line of hosts through user space: on every host a
// bridge with the pods and a TAP device, and a program (`weir relay`) that takes
// frames from it and sends them to its neighbours over UDP, several frames in a
// datagram where they come close together. Hosts between the ends forward in the
// program. It is the mechanism of Weave's sleeve, and not Weave's code.
//
// With delay a segment is a long wire: the program holds back what it sends there.
type Relay struct {
	Hops    int           `yaml:"hops"`    // 1 to 5, one less than hosts
	Encrypt bool          `yaml:"encrypt"` // seal frames with NaCl's box
	Wait    time.Duration `yaml:"wait"`    // that a frame waits for others, 0 to 1 s; 0: while more can be read at once
	Port    int           `yaml:"port"`    // UDP port of every host, 1 to 65535
	Delay   Delays        `yaml:"delay"`   // of every segment, or a list with one for each: 0 to 1 s, each way
}

// Shape returns a line that has n.Hops segments.
func (n Relay) Shape(s topo.Spec) topo.Spec { return line(s, n.Hops) }

const (
	relayDev = "relay0"
	// relayReady is what the program says when it has opened everything.
	relayReady = "relay: ready"
)

// Plan makes the bridges, plugs pods and TAP devices in, and starts the programs.
func (n Relay) Plan(t topo.Topology) (plan.Plan, error) {
	if err := checkLine("relay", t, n.Hops, n.Delay); err != nil {
		return plan.Plan{}, err
	}
	switch {
	case n.Port < 1 || n.Port > 65535:
		return plan.Plan{}, fmt.Errorf("relay: port %d is outside 1..65535", n.Port)
	case n.Wait < 0 || n.Wait > time.Second:
		return plan.Plan{}, fmt.Errorf("relay: wait %v is outside 0..1s", n.Wait)
	}
	overhead, shared := n.overhead(t)
	mtu, err := podMTU("relay", t, overhead)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Ends: podEnds(t, podDev), Path: path(t, mtu, overhead)}
	p.Path.Shared = shared
	var taps []plan.Expect
	for i, h := range t.Hosts {
		p.Steps = append(p.Steps, attach(t, h, mtu)...)
		p.Steps = append(p.Steps,
			plan.Step{In: h.Name, Link: &plan.Link{Name: relayDev, Kind: "tap", MTU: mtu, Master: bridgeDev}},
			plan.Step{In: h.Name, Service: &plan.Service{Name: "relay", Argv: n.argv(t, i), Ready: plan.Ready{Line: relayReady}}})
		taps = append(taps, plan.Expect{State: plan.State{In: h.Name, Dev: relayDev, MTU: mtu}, Proof: plan.Proof{MustCarry: true, Across: true, Near: plan.Pod}})
	}
	p.Expect = expect(t, p, taps...)
	for i, e := range p.Expect {
		p.Expect[i].Joined = len(e.Side) > 0 // the underlay's
	}
	return p, nil
}

// argv starts the program of host i.
func (n Relay) argv(t topo.Topology, i int) []string {
	argv := []string{"weir", "relay", relayDev}
	for s, ports := range t.Segments { // segment s has hosts s and s+1
		ends := [2]netip.Addr{ports[0].Addr.Addr(), ports[1].Addr.Addr()}
		if i == s+1 {
			ends[0], ends[1] = ends[1], ends[0]
		}
		if i == s || i == s+1 {
			neighbour := fmt.Sprintf("%v,%v", netip.AddrPortFrom(ends[0], uint16(n.Port)), netip.AddrPortFrom(ends[1], uint16(n.Port)))
			if d := n.Delay.of(s); d > 0 {
				neighbour += "," + d.String()
			}
			argv = append(argv, "--neighbour", neighbour)
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

// overhead returns what the relay adds to an IP packet of a pod, and how much of
// that the frames of one datagram share (package relay, wire.go).
func (n Relay) overhead(t topo.Topology) (all, shared int) {
	const udp, ip4, ip6, kind, length, counter, tag = 8, 20, 40, 1, 2, 8, 16
	shared = udp + ip4 + kind
	if underlay6(t) {
		shared += ip6 - ip4
	}
	if n.Encrypt {
		shared += counter + tag
	}
	return shared + length + plan.EthernetHeader, shared
}
