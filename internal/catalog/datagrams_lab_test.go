package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/labtest"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// Datagrams that leave through AF_XDP take the planned path and arrive as those of a socket do: over IPv4 and IPv6
// (whose checksums the receiver checks), straight and through a gateway, one run after another on the same queue.
func TestXDPInTheLab(t *testing.T) {
	nstest.Need(t)
	for _, name := range []string{"host", "bridge", "routed", "vxlan-overlay"} {
		for _, v6 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/IPv6 %v", name, v6), func(t *testing.T) {
				if testing.Short() && name != "host" {
					t.Skip("slow: run without -short")
				}
				fail := nstest.Judge(t)
				_, _, p, run := datagramRuns(t, name, v6)
				for _, size := range []int{18, 19, 1200} { // an odd number of bytes ends in half a word of the checksum
					// As fast as it can, an AF_XDP sender may outrun any receiver; at this rate, every datagram arrives.
					r := run(p, &probe.UDPRate{Size: size, Send: "xdp", Rate: probe.Bitrate(8 * size * 20_000)})
					sent, _ := r.Get("sent")
					got, _ := r.Get("delivered")
					if r.Status != record.OK || r.Observed["send"] != "xdp" || got.Value == 0 {
						t.Errorf("%d bytes: %s %s: %g packet/s sent, %g delivered; %v", size, r.Status, r.Reason, sent.Value, got.Value, r.Observed)
					}
					if got.Value < sent.Value*0.95 {
						fail("%d bytes: %g packet/s sent, only %g delivered", size, sent.Value, got.Value)
					}
				}
				if r := run(p, xdp(1500)); r.Status == record.OK || !strings.Contains(r.Reason, "xdp does not fragment") {
					t.Errorf("too large: %s %s", r.Status, r.Reason)
				}
			})
		}
	}
}

// A sender that would pass by a shaper of the path refuses to.
func TestXDPPastAShaper(t *testing.T) {
	nstest.Need(t)
	d, tp, p, run := datagramRuns(t, "host", false)
	if r := run(p, xdp(18)); r.Status != record.OK {
		t.Errorf("without a shaper: %s %s", r.Status, r.Reason)
	}
	c, err := condition.Change(d, tp, map[string]string{"link": "1gbit"})
	if err != nil {
		t.Fatal(err)
	}
	if r := run(c.Plan, xdp(18), c.Do...); r.Status == record.OK || !strings.Contains(r.Reason, "--send xdp would pass by the queueing discipline tbf of eth0") {
		t.Errorf("with a shaper: %s %s", r.Status, r.Reason)
	}
}

func xdp(size int) probe.Probe { return &probe.UDPRate{Size: size, Send: "xdp"} }

// Several streams of datagrams cross a network, where nothing but their own control connections opens a port for them.
func TestStreamsOfDatagramsInTheLab(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, name := range []string{"bridge", "vxlan-overlay"} {
		for _, v6 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/IPv6 %v", name, v6), func(t *testing.T) {
				_, _, p, run := datagramRuns(t, name, v6)
				for _, of := range []probe.Probe{&probe.UDPRate{Streams: 4}, &probe.UDPStream{Streams: 2, Size: 1000, Send: "gso"}} {
					r := run(p, of)
					got, _ := r.Get("delivered")
					if own, ok := r.Value(record.Quantity("cpu.own").At("server")); r.Status != record.OK || got.Value == 0 || !ok || own.Value <= 0 || r.Observed["streams"] == "" {
						t.Errorf("%+v: %s %s: %g delivered, %g cores, %v", of, r.Status, r.Reason, got.Value, own.Value, r.Observed)
					}
				}
			})
		}
	}
}

// datagramRuns builds a network and returns a function that takes steps, then measures with a probe for a moment.
func datagramRuns(t *testing.T, name string, v6 bool) (d network.Driver, tp topo.Topology, p plan.Plan, run func(p plan.Plan, with probe.Probe, first ...plan.Step) record.Result) {
	t.Helper()
	d = Networks[name].New()
	tp, p = labtest.Plan(t, d, Networks[name].Spec(d, topo.Spec{IPv6: v6, PodsIPv6: v6}))
	built := labtest.Up(t, tp, p, "")
	return d, tp, p, func(p plan.Plan, with probe.Probe, first ...plan.Step) record.Result {
		t.Helper()
		labtest.Apply(t, built.Site, first...)
		built.Plan = p
		return labtest.Run(t, built, with)
	}
}
