package lab

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/weir-bench/weir/internal/plan"
)

// A delay is netem on the port, with the rate below it, or the error names the missing kernel module.
// Package distance tests what delays packets otherwise; its program does not run here.
func TestDelay(t *testing.T) {
	s := open(t, "a", "b")
	delay := plan.Step{In: "a", Delay: &plan.Delay{Dev: "v0", Bridge: "br0", Delay: 1500 * time.Microsecond, Jitter: time.Millisecond, Loss: 0.25}}
	err := s.Apply(t.Context(), []plan.Step{
		{In: "a", Link: &plan.Link{Name: "br0", Kind: "bridge"}},
		{In: "a", Link: &plan.Link{Name: "v0", Kind: "veth", Master: "br0", Peer: "v0", PeerIn: "b"}},
		delay,
		{In: "a", Rate: &plan.Rate{Dev: "v0", Rate: 1e9, MTU: 1500, Delayed: true}}, delay})
	if errors.Is(err, ErrUnsupported) {
		if !strings.Contains(err.Error(), "CONFIG_NET_SCH_NETEM; load its module as root (modprobe sch_netem)") {
			t.Error(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	qdiscs := func() []netlink.Qdisc {
		nl := reader(t, s.Nodes["a"])
		dev, err := nl.LinkByName("v0")
		if err != nil {
			t.Fatal(err)
		}
		all, err := nl.QdiscList(dev)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	both := qdiscs()
	if len(both) != 2 {
		t.Fatalf("%v, want netem and tbf", both)
	}
	want := netlink.NewNetem(netlink.QdiscAttrs{}, netlink.NetemQdiscAttrs{Latency: 1500})
	if q, ok := both[0].(*netlink.Netem); !ok || q.Limit != plan.DelayLimit || q.Latency != want.Latency {
		t.Errorf("%v, want a netem of 1.5 ms", both[0])
	}
	if q, ok := both[1].(*netlink.Tbf); !ok || q.Parent != handle1|1 {
		t.Errorf("%v, want a tbf inside netem", both[1])
	}
	if err := s.Apply(t.Context(), []plan.Step{{In: "a", Rate: &plan.Rate{Dev: "v0", Delayed: true}}}); err != nil {
		t.Fatal(err)
	}
	if left := qdiscs(); len(left) != 1 {
		t.Errorf("%v, want netem alone", left)
	}
}
