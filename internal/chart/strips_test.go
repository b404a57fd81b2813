package chart

import (
	"fmt"
	"slices"
	"testing"
)

// strips has a way of many devices with times and marks that would cover each other, one of names alone, and a failed one.
var strips = Strips{[]Strip{
	{"host", 0, "path 0.7 µs", []Stretch{{"h1: sender", []WayStop{{Name: "eth0", Kind: "veth"}}, Badge{}}, {"h2: receiver", []WayStop{{Name: "eth0"}}, Badge{"waits for a CPU", "It waits."}}}},
	{"vxlan-overlay", 2, "", []Stretch{{"h1p1: sender", []WayStop{{Name: "eth0", Kind: "veth", Time: "94 ns", Mark: Badge{"12.5 % lost", "Lost."}}}, Badge{"a thread is full", "Full."}},
		{"h1", []WayStop{{Name: "p1", Kind: "veth"}, {Name: "bridge", Plain: true}, {Name: "a-long-device-0", Kind: "vxlan", Time: "1.30 µs"}}, Badge{}}, {"h2p1: receiver", []WayStop{{Name: "eth0"}}, Badge{}}}},
	{"failed", 9, "no result", []Stretch{{Name: "sender"}, {Name: "receiver"}}},
}, "not seen", "Ways."}

// The outline of the last place is inside the drawing: a page cuts what is not.
func TestOutlineIsInside(t *testing.T) {
	one := strips
	one.Strips = slices.Clone(one.Strips[:1]) // not those of the golden file
	one.Strips[0].Places = []Stretch{{Name: "h1: sender"}, {Name: "h2: receiver"}}
	svg, err := one.SVG()
	if err != nil {
		t.Fatal(err)
	}
	var wide, high float64
	if _, err := fmt.Sscanf(svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %f %f"`, &wide, &high); err != nil || high < stripHead+stripPlace+0.6 {
		t.Errorf("%v: the drawing is %.1f px high, and the outline ends at %.1f", err, high, stripHead+stripPlace+0.6)
	}
}
