package header

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/plan"
)

var (
	plain = plan.Path{MTU: 1500, Outer: 1500}
	vxlan = plan.Path{MTU: 1450, Overhead: 50, Outer: 1500} // RFC 7348: inner Ethernet 14, VXLAN 8, UDP 8, IPv4 20
	// A relay's: inner Ethernet 14 and length 2 per packet; kind 1, UDP 8, IPv4 20 shared.
	joined = plan.Path{MTU: 1455, Overhead: 45, Shared: 29, Outer: 1500}
	vxlan6 = plan.Path{MTU: 1430, Overhead: 70, Outer: 1500} // IPv6: 40 instead of 20
)

func udp(p plan.Path, datagram int) Stack {
	return Stack{Path: p, Protocol: UDP, Datagram: datagram}
}

// The wanted values are payload bytes and wire bytes, counted by hand. A full frame of 1500 costs
// 14+24 more: 1538.
func TestCeiling(t *testing.T) {
	for _, c := range []struct {
		name          string
		h             Stack
		payload, wire float64
	}{
		{"tcp", Stack{Path: plain, Protocol: TCP}, 1448, 1538},
		{"tcp over IPv6", Stack{Path: plain, Protocol: TCP, IPv6: true}, 1428, 1538},
		{"tcp, vxlan", Stack{Path: vxlan, Protocol: TCP}, 1398, 1538},
		{"tcp, vxlan over IPv6", Stack{Path: vxlan6, Protocol: TCP}, 1378, 1538},
		{"tcp, IPv6 in vxlan", Stack{Path: vxlan, Protocol: TCP, IPv6: true}, 1378, 1538},
		{"tcp, jumbo", Stack{Path: plan.Path{MTU: 9000, Outer: 9000}, Protocol: TCP}, 8948, 9038},
		{"tcp, a path below the underlay's MTU", Stack{Path: plan.Path{MTU: 1400, Outer: 1500}, Protocol: TCP}, 1348, 1438},
		{"tcp, vlan", Stack{Path: plan.Path{MTU: 1500, Outer: 1500, Tag: 4}, Protocol: TCP}, 1448, 1542},
		{"udp 1400", udp(plain, 1400), 1400, 1466},
		{"udp 1400, vxlan", udp(vxlan, 1400), 1400, 1516},
		{"udp 1400, IPv6", Stack{Path: plain, Protocol: UDP, Datagram: 1400, IPv6: true}, 1400, 1486},
		{"udp 1472, the largest whole one", udp(plain, 1472), 1472, 1538},
		{"udp 1473, one byte too many", udp(plain, 1473), 1473, 1538 + 60 + 24}, // the second fragment is padded
		{"udp 4000 in three fragments", udp(plain, 4000), 4000, 1538 + 1538 + 20 + 1048 + 38},
		// 1450-20 is 1430, rounded down to 1424: the first fragment has 1444 bytes.
		{"udp 1472, vxlan", udp(vxlan, 1472), 1472, (1444 + 50 + 38) + (20 + 56 + 50 + 38)},
		// 1500-48 is 1452, rounded down to 1448.
		{"udp 4000, IPv6", Stack{Path: plain, Protocol: UDP, Datagram: 4000, IPv6: true}, 4000, 2*(1496+38) + (48 + 1112 + 38)},
		{"udp 1 in the shortest frame", udp(plain, 1), 1, 60 + 24},
		{"udp 18 fills the shortest frame", udp(plain, 18), 18, 60 + 24},
		{"udp 19 is longer", udp(plain, 19), 19, 61 + 24},
		{"tcp, joined: a full packet has nobody to share with", Stack{Path: joined, Protocol: TCP}, 1403, 1538},
		// 64+16 is 80 of the 1471 bytes that a full datagram has for frames.
		{"udp 36, joined", udp(joined, 36), 36, 1538 * 80.0 / 1471},
		{"udp 1, vxlan", udp(vxlan, 1), 1, 29 + 50 + 38},
	} {
		const rate = 1e9
		got, err := Ceiling(rate, c.h)
		if want := rate * c.payload / c.wire; err != nil || math.Abs(got-want) > 1e-3 {
			t.Errorf("%s: got %.0f, %v; want %.0f", c.name, got, err, want)
		}
		got, err = PacketCeiling(rate, c.h)
		if want := rate / 8 / c.wire; err != nil || math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: got %.3f packet/s, %v; want %.3f", c.name, got, err, want)
		}
	}
}

// Well-known figures.
func TestCeilingKnownFigures(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(float64, Stack) (float64, error)
		h    Stack
		want float64
	}{
		{"941 Mbit/s on Gigabit Ethernet", Ceiling, Stack{Path: plain, Protocol: TCP}, 0.94148e9},
		{"over VXLAN", Ceiling, Stack{Path: vxlan, Protocol: TCP}, 0.90897e9},
		{"1.488 million of the shortest frames", PacketCeiling, udp(plain, 18), 1.488095e6},
	} {
		got, err := c.f(1e9, c.h)
		if err != nil || math.Abs(got/c.want-1) > 1e-5 {
			t.Errorf("%s: got %v, %v", c.name, got, err)
		}
	}
}

func TestNoCeiling(t *testing.T) {
	for name, f := range map[string]func() (float64, error){
		"no rate":           func() (float64, error) { return Ceiling(0, udp(plain, 1400)) },
		"inside a host":     func() (float64, error) { return Ceiling(1e9, udp(plan.Path{MTU: 65536}, 1400)) },
		"packets, no rate":  func() (float64, error) { return PacketCeiling(0, udp(plain, 1400)) },
		"packets in a host": func() (float64, error) { return PacketCeiling(1e9, udp(plan.Path{MTU: 1500}, 1400)) },
	} {
		if got, err := f(); got != 0 || err != nil {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

func TestCeilingErrors(t *testing.T) {
	for _, c := range []struct {
		rate float64
		h    Stack
		want string
	}{
		{-1, udp(plain, 1400), "outside 0..1e+15"},
		{math.NaN(), udp(plain, 1400), "outside"},
		{math.Inf(1), udp(plain, 1400), "outside"},
		{1e9, udp(plain, 0), "outside 1..65507"},
		{1e9, udp(plain, 65508), "outside 1..65507"},
		{1e9, Stack{Path: plain, Protocol: UDP, Datagram: 65528, IPv6: true}, "outside 1..65527"},
		{1e9, udp(plan.Path{MTU: 27, Outer: 1500}, 1), "at least 28"},
		{1e9, Stack{Protocol: TCP}, "path MTU 0 leaves no room for TCP: want at least 53"},
		{1e9, Stack{Path: plan.Path{MTU: 1500, Overhead: 50, Outer: 1500}, Protocol: TCP}, "lower the path's MTU to 1450"},
		{1e9, Stack{Path: plan.Path{MTU: 1500, Overhead: -1}, Protocol: TCP}, "negative"},
		{1e9, Stack{Path: plan.Path{MTU: 1455, Overhead: 45, Shared: 46, Outer: 1500}, Protocol: TCP}, "46 bytes of the encapsulation that packets share are outside 0..45"},
		{1e9, Stack{Path: plan.Path{MTU: 1500, Tag: -1}, Protocol: TCP}, "negative"},
		{1e9, Stack{Path: plan.Path{MTU: 1 << 40}, Protocol: TCP}, "above"},
		{1e9, Stack{Path: plain, Protocol: "sctp"}, `"sctp" is not one of tcp, udp`},
	} {
		for _, f := range []func(float64, Stack) (float64, error){Ceiling, PacketCeiling} {
			got, err := f(c.rate, c.h)
			if err == nil || got != 0 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%g, %+v: got %v, %v; want %q", c.rate, c.h, got, err, c.want)
			}
		}
	}
}

// Fragments carry the whole datagram, and none exceeds the MTU.
func TestFragments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		h := Stack{Path: plan.Path{MTU: 576 + r.IntN(9000)}, Protocol: UDP, Datagram: 1 + r.IntN(65507), IPv6: r.IntN(2) == 1}
		sizes := h.packets()
		if len(sizes) == 1 {
			if sizes[0] != h.ip()+8+h.Datagram || sizes[0] > h.Path.MTU {
				t.Errorf("%+v: %v", h, sizes)
			}
			continue
		}
		sum := 0
		for i, s := range sizes {
			carried := s - h.fragmentHead()
			sum += carried
			if s > h.Path.MTU || carried < 1 || i < len(sizes)-1 && (carried%8 != 0 || s <= h.Path.MTU-8) {
				t.Errorf("%+v: fragment %d of %v", h, i, sizes)
			}
		}
		if sum != 8+h.Datagram {
			t.Errorf("%+v: %v carry %d bytes", h, sizes, sum)
		}
	}
}

func TestCeilingProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		mtu, overhead := 576+r.IntN(8000), r.IntN(100)
		h := Stack{
			Path:     plan.Path{MTU: mtu, Overhead: overhead, Outer: mtu + overhead},
			Protocol: []Protocol{TCP, UDP}[r.IntN(2)], Datagram: 1 + r.IntN(65000), IPv6: r.IntN(2) == 1,
		}
		c, err := Ceiling(1e9, h)
		if err != nil || !(c > 0 && c < 1e9) {
			t.Fatalf("%+v: %v, %v", h, c, err)
		}
		ten, _ := Ceiling(1e10, h)
		if math.Abs(ten/c-10) > 1e-9 {
			t.Errorf("%+v: ten times the rate gives %v instead of %v", h, ten, c)
		}
		v6 := h
		v6.IPv6 = true
		if c6, _ := Ceiling(1e9, v6); c6 > c {
			t.Errorf("%+v: more payload with the longer header", h)
		}
		fat := h
		fat.Path.Overhead, fat.Path.Outer = overhead+8, mtu+overhead+8
		if cf, _ := Ceiling(1e9, fat); cf > c {
			t.Errorf("%+v: more payload with 8 bytes more of encapsulation", h)
		}
	}
}

func TestJudgment(t *testing.T) {
	for _, c := range []struct {
		measured, ceiling   float64
		limited, impossible bool
	}{
		{941e6, 941.48e6, true, false},
		{930e6, 941.48e6, true, false}, // 1.2 % below
		{920e6, 941.48e6, false, false},
		{943e6, 941.48e6, true, false}, // 0.2 % above
		{950e6, 941.48e6, true, true},  // 0.9 % above
		{20e9, 0, false, false},        // no ceiling
		{0, 0, false, false},
	} {
		got := []bool{LinkLimited(c.measured, c.ceiling), Impossible(c.measured, c.ceiling)}
		if !slices.Equal(got, []bool{c.limited, c.impossible}) {
			t.Errorf("%g of %g: limited and impossible are %v", c.measured, c.ceiling, got)
		}
	}
}
