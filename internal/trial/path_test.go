package trial

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
)

// hopsOf reads hops in the form of trace tests: "h1:p1 route h1:eth0".
func hopsOf(text string) (hops []plan.Hop) {
	by := ""
	for _, word := range strings.Fields(text) {
		in, dev, ok := strings.Cut(word, ":")
		if !ok {
			by = word
			continue
		}
		hops = append(hops, plan.Hop{In: in, Dev: dev, By: by})
		by = ""
	}
	return hops
}

// device sets the bytes and packets that a device received and sent.
func device(grown map[string]sample.Counters, in, dev string, rx, tx float64) {
	if grown[in] == nil {
		grown[in] = sample.Counters{}
	}
	name := "dev." + dev + "."
	grown[in][name+"rx_bytes"], grown[in][name+"rx_packets"] = rx, rx/100
	grown[in][name+"tx_bytes"], grown[in][name+"tx_packets"] = tx, tx/100
}

// The devices of a path count data in one direction each. What a daemon or a bridge passes on without
// counting it is left out.
func TestPassed(t *testing.T) {
	const bulk, back = 1e6, 1e4
	for _, c := range []struct {
		trace  string
		silent string // devices that count nothing, or a little of their own
		none   string // devices without counters
		want   string // out of a device: >, into it: <
	}{
		{"h1:eth0 h2:eth0", "", "", "h1:eth0> h2:eth0<"},
		{"h1p1:eth0 h1:p1 h1:br0 h1:vx0 vxlan h1:eth0 h2:eth0 vxlan h2:vx0 h2:br0 h2:p1 h2p1:eth0", "h1:br0 h2:br0", "",
			"h1p1:eth0> h1:p1< h1:vx0> h1:eth0> h2:eth0< h2:vx0< h2:p1> h2p1:eth0<"},
		{"h1:vx0 vxlan h1:eth0 h2:eth0 vxlan h2:vx0", "", "", "h1:vx0> h1:eth0> h2:eth0< h2:vx0<"},
		{"h1p1:eth0 h1:p1 route h1:eth0 h2:eth0 route h2:p1 h2p1:eth0", "", "", "h1p1:eth0> h1:p1< h1:eth0> h2:eth0< h2:p1> h2p1:eth0<"},
		{"h1p1:eth0 h1:eth0 h2:eth0 h2p1:eth0", "", "", "h1p1:eth0> h1:eth0> h2:eth0< h2p1:eth0<"},
		{"h1p1:eth0 cni h1:vxlan.calico felix h1:eth0 h2:eth0 felix h2:vxlan.calico cni h2p1:eth0", "", "",
			"h1p1:eth0> h1:vxlan.calico> h1:eth0> h2:eth0< h2:vxlan.calico< h2p1:eth0<"},
		{"h1p1:eth0 cni h1:cni0 cni h1:flannel.1 flanneld h1:eth0 h2:eth0 flanneld h2:flannel.1 cni h2:cni0 cni h2p1:eth0", "", "",
			"h1p1:eth0> h1:cni0< h1:flannel.1> h1:eth0> h2:eth0< h2:flannel.1< h2:cni0> h2p1:eth0<"},
		{"h1p1:eth0 h1:p1 h1:br0 h1:relay0 a program h1:eth0 h2:eth0", "h1:br0", "", "h1p1:eth0> h1:p1< h1:relay0> h1:eth0> h2:eth0<"},
		{"h1p1:eth0 h1:p1 h1:br-int h1:tun-h2 vxlan h1:br-ex h1:eth0 h2:eth0 h2:br-ex vxlan h2:tun-h1 h2:br-int h2:p1 h2p1:eth0", "h1:br-int h2:br-int", "h1:tun-h2 h2:tun-h1",
			"h1p1:eth0> h1:p1< h1:br-ex> h1:eth0> h2:eth0< h2:br-ex< h2:p1> h2p1:eth0<"},
		{"h1p1:eth0 h1:p1 h1:br0 route h1:eth0 h2:eth0", "", "", "h1p1:eth0> h1:p1< h1:br0< h1:eth0> h2:eth0<"},
		{"h1:eth0 switch:h1 switch:fabric switch:h2 h2:eth0", "switch:fabric", "", "h1:eth0> switch:h1< switch:h2> h2:eth0<"},
		{"h1p1:eth0 docker h1p2:eth0", "", "", "h1p1:eth0> h1p2:eth0<"},
	} {
		hops := hopsOf(c.trace)
		for _, symmetric := range []bool{false, true} {
			if symmetric && strings.Contains(c.trace, "calico") {
				continue // only the bytes show the direction there
			}
			grown := map[string]sample.Counters{}
			var want []string
			for _, w := range strings.Fields(c.want) {
				at, out := w[:len(w)-1], w[len(w)-1] == '>'
				in, dev, _ := strings.Cut(at, ":")
				data, other := bulk, float64(back)
				if symmetric {
					other = data
				}
				if out {
					device(grown, in, dev, other, data)
				} else {
					device(grown, in, dev, data, other)
				}
				want = append(want, fmt.Sprintf("%s %v %v", at, out, data/100))
			}
			for _, w := range strings.Fields(c.silent) {
				in, dev, _ := strings.Cut(w, ":")
				device(grown, in, dev, 300, 0) // a router advertisement
			}
			for _, w := range strings.Fields(c.none) { // the node has others
				in, _, _ := strings.Cut(w, ":")
				device(grown, in, "lo", 0, 0)
			}
			var got []string
			for _, h := range passed(hops, grown) {
				got = append(got, fmt.Sprintf("%s:%s %v %v", h.In, h.Dev, h.Out, h.Data.Packets))
				if !symmetric && h.Back.Bytes != back {
					t.Errorf("%s: %s sent %v bytes back", c.trace, h.Dev, h.Back.Bytes)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s (symmetric: %v):\ngot  %s\nwant %s", c.trace, symmetric, strings.Join(got, ", "), strings.Join(want, ", "))
			}
		}
	}
}

// A device that drops everything stays on the path: nothing after it shows what it dropped.
func TestPassedKeepsTheDropper(t *testing.T) {
	grown := map[string]sample.Counters{}
	device(grown, "h1p1", "eth0", 0, 1e6)
	device(grown, "h1", "p1", 1e6, 0)
	device(grown, "h1", "eth0", 0, 100)
	device(grown, "h2", "eth0", 100, 0)
	grown["h1"]["dev.eth0.tx_dropped"], grown["h1"]["qdisc.eth0.tbf.drops"], grown["h1"]["qdisc.eth0.tbf.overlimits"] = 7, 9, 3-(1<<32)
	got := passed(hopsOf("h1p1:eth0 h1:p1 route h1:eth0 h2:eth0"), grown)
	if len(got) != 4 || got[2].Data.Drops != 7 || got[2].Queue == nil || *got[2].Queue != (evidence.Queue{Kind: "tbf", Drops: 9, Overlimits: 3}) {
		t.Errorf("path %+v", got)
	}
}

func TestBackwards(t *testing.T) {
	got := backwards(hopsOf("h1p1:eth0 h1:p1 route h1:eth0 h2:eth0"))
	if want := hopsOf("h2:eth0 h1:eth0 route h1:p1 h1p1:eth0"); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Where the steps do not show the path, it is what the plan expects to carry.
func TestTraceOfExpectations(t *testing.T) {
	s := Setup{Client: plan.End{Label: "pod", Node: "h1p1", Host: "h1", Dev: "eth0"}, Server: plan.End{Label: "pod", Node: "h2p1", Host: "h2", Dev: "eth0"}}
	for _, in := range []string{"h1p1", "h2", "h1", "h3", "h2p1"} {
		s.Plan.Expect = append(s.Plan.Expect, plan.Expect{State: plan.State{In: in, Dev: "eth0"}, Proof: plan.Proof{MustCarry: true}}, plan.Expect{State: plan.State{In: in, Dev: "eth1"}})
	}
	if got, want := s.trace(s.Plan.Tracer()), hopsOf("h1p1:eth0 h1:eth0 h2:eth0 h2p1:eth0"); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s.Client, s.Server = plan.End{Label: "host", Node: "h1", Host: "h1", Dev: "eth0"}, plan.End{Label: "host", Node: "h2", Host: "h2", Dev: "eth0"}
	if got, want := s.trace(s.Plan.Tracer()), hopsOf("h1:eth0 h2:eth0"); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
