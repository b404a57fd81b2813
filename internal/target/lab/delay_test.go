package lab

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/weir-bench/weir/internal/plan"
)

// A delay is netem on the device, or the error names the missing kernel module.
func TestDelay(t *testing.T) {
	s := open(t, "a", "b")
	err := s.Apply(t.Context(), []plan.Step{
		{In: "a", Link: &plan.Link{Name: "v0", Kind: "veth", Peer: "v0", PeerIn: "b"}},
		{In: "a", Delay: &plan.Delay{Dev: "v0", Delay: 1500 * time.Microsecond}}})
	if errors.Is(err, ErrUnsupported) {
		if !strings.Contains(err.Error(), "CONFIG_NET_SCH_NETEM; load its module as root (modprobe sch_netem)") {
			t.Error(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	nl := reader(t, s.Nodes["a"])
	dev, err := nl.LinkByName("v0")
	if err != nil {
		t.Fatal(err)
	}
	qdiscs, err := nl.QdiscList(dev)
	if err != nil || len(qdiscs) != 1 {
		t.Fatalf("%v, %v", qdiscs, err)
	}
	if q, ok := qdiscs[0].(*netlink.Netem); !ok || q.Limit != plan.DelayLimit || q.Latency != netlink.NewNetem(netlink.QdiscAttrs{}, netlink.NetemQdiscAttrs{Latency: 1500}).Latency {
		t.Errorf("%v, want a netem of 1.5 ms", qdiscs[0])
	}
}
