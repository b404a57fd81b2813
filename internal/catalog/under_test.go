package catalog

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
)

// A condition of one network holds for it alone, and only in the lab.
func TestUnder(t *testing.T) {
	load := func(more string) study.Study {
		s, err := study.Load([]byte("networks: [host, {use: host, name: other, under: {"+more+"}}]\nprobes: [udp-rr]\n"), "f")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	p, err := Prepare(load("mtu: 9000, delay: 1ms"), topo.Kernel{})
	if err != nil {
		t.Fatal(err)
	}
	own, other := p.Networks["host"].Topology, p.Networks["other"].Topology
	if own.MTU != 1500 || own.Far || other.MTU != 9000 || !other.Far {
		t.Errorf("host has MTU %d, far %v; other %d, %v", own.MTU, own.Far, other.MTU, other.Far)
	}
	for more, want := range map[string]string{
		"stress: 50%": `"stress" is no condition of a network: want one of bridge-nf, delay, gro`,
		"mtu: 1":      "invalid MTU",
		"jitter: 1ms": "invalid jitter 1ms with a delay of 0s",
	} {
		if _, err := Prepare(load(more), topo.Kernel{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", more, err, want)
		}
	}
	s := load("mtu: 9000")
	s.Target.SSH = []string{"a", "b"}
	if _, err := Prepare(s, topo.Kernel{}); err == nil || !strings.Contains(err.Error(), "weir changes nothing on machines that it finds") {
		t.Errorf("machines: %v", err)
	}
}
