package section

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// onPaths is the synthetic run with the devices that packets passed, and a queue of the overlay's that drops a tenth.
func onPaths(t *testing.T) *account.Account {
	r := reporttest.Run(t)
	flow := evidence.Flow{Packets: 1e5, Bytes: 1e8}
	hop := func(in, dev, by string, out bool) evidence.Hop {
		return evidence.Hop{In: in, Dev: dev, By: by, Out: out, Data: flow, Queue: &evidence.Queue{Kind: "noqueue"}}
	}
	veth := evidence.Device{Kind: "veth", MTU: 1500}
	host := map[string]evidence.Device{"p1": veth, "br0": {Kind: "bridge"}, "vx0": {Kind: "vxlan"}, "eth0": {}}
	settings := &evidence.Settings{Format: evidence.Format, Places: map[string]evidence.Node{"h1": {Devices: host}, "h2": {Devices: host}}}
	r.Evidence, r.Settings = map[string]*evidence.Trial{}, map[string]*evidence.Settings{}
	for _, x := range r.Results {
		e := &evidence.Trial{Format: evidence.Format, Protocol: "udp", Seconds: 1, Window: 1, Sender: evidence.End{Node: "h1", Host: "a"}, Receiver: evidence.End{Node: "h2", Host: "a"}}
		switch x.Config["network"] {
		case "host":
			e.Path = []evidence.Hop{hop("h1", "eth0", "", true), hop("h2", "eth0", "", false)}
		case "vxlan-overlay":
			dropping := hop("h1", "eth0", "vxlan", true)
			dropping.Queue = &evidence.Queue{Kind: "fq_codel", Drops: 1e4, Packets: 9e4}
			e.Path = []evidence.Hop{hop("h1p1", "eth0", "", true), hop("h1", "p1", "", false), hop("h1", "vx0", "", true), dropping, hop("h2", "eth0", "", false), hop("h2p1", "eth0", "route", false)}
		}
		r.Evidence[x.Trial], r.Settings[x.Trial] = e, settings
	}
	return r
}

func waysOf(t *testing.T, r *account.Account) string {
	t.Helper()
	answer := reporttest.Part(Report(reporttest.Analyzed(r)), "answer")
	if len(answer.Figures) == 0 || answer.Figures[0].ID != "ways" {
		t.Fatal("no picture of the paths")
	}
	svg, err := answer.Figures[0].Chart.SVG()
	if err != nil {
		t.Fatal(err)
	}
	return svg
}

// The first picture has the devices in the order in which packets pass them, what a trace says of each, where packets
// were lost, and nothing of what no trial saw.
func TestWays(t *testing.T) {
	r := onPaths(t)
	r.Traces = []packettrace.Trace{{Format: packettrace.Format, Network: "host", Request: packettrace.Way{Hops: []packettrace.Hop{{Node: "h1", Dev: "eth0"},
		{Node: "h1", Dev: "eth0", Time: 0.25e-6, Does: packettrace.DoesQueue}, {Node: "h2", Dev: "eth0", Time: 1.5e-6, Does: packettrace.DoesCross, Last: true}}}}}
	svg := waysOf(t, r)
	for _, want := range []string{`aria-label="host: h1: sender eth0, h2: receiver eth0; bridge: h1: sender, h2: receiver; vxlan-overlay: h1p1: sender eth0, h1 p1 bridge vx0 eth0, h2 eth0, h2p1: receiver eth0."`,
		">250 ns<", ">1.50 µs<", ">not seen<", ">vxlan<", ">NIC<", " % lost<", "path 1.1"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %s:\n%s", want, svg)
		}
	}
	if n := strings.Count(svg, "ns<"); n != 1 {
		t.Errorf("%d times below 1 µs: want the traced one", n)
	}
	d := Report(reporttest.Analyzed(r)).In(lang.Chinese)
	zh, err := d.Sections[0].Figures[0].Chart.SVG()
	if err != nil || !strings.Contains(zh, ">h1：发送端<") || !strings.Contains(zh, ">网桥<") {
		t.Errorf("%v: %s", err, zh)
	}
}

// A network without any evidence, as one that could not be built, has a place in the picture and no device. A run without
// evidence has no picture.
func TestWaysUnseen(t *testing.T) {
	r := onPaths(t)
	for i, x := range r.Results {
		if x.Config["network"] == "bridge" {
			delete(r.Evidence, x.Trial)
			r.Results[i].Status, r.Results[i].Values = record.Skipped, nil
		}
	}
	if svg := waysOf(t, r); !strings.Contains(svg, ">no result<") || !strings.Contains(svg, "bridge: sender, receiver;") {
		t.Error(svg)
	}
	for _, f := range reporttest.Part(Report(reporttest.Analyzed(reporttest.Run(t))), "answer").Figures {
		if f.ID == "ways" {
			t.Error("a run without evidence has a picture of paths")
		}
	}
}

// The CPU times per datagram of all networks come from one probe, because two cannot be compared: the one that has most.
func TestOneProbePerDatagram(t *testing.T) {
	row := func(network string, cost, lost float64) analysis.Row {
		r := analysis.Row{Network: network, Lost: stat.Interval{N: 1, Center: lost}}
		r.Own.Name, r.Own.Value = record.CPUOwnPerPacket, stat.Interval{N: 1, Center: cost}
		return r
	}
	for want, tables := range map[string][]analysis.Table{
		"udp-rate": {{Probe: "udp-stream", Rows: []analysis.Row{row("host", 1e-6, 0), row("vxlan", 3e-6, 0.5)}},
			{Probe: "udp-rate", Rows: []analysis.Row{row("host", 2e-6, 0), row("vxlan", 4e-6, 0.01)}}},
		"": {{Probe: "tcp-stream", Rows: []analysis.Row{{Network: "host"}}}},
	} {
		got := ""
		if t := (source{p: &analysis.Run{Tables: tables}}).perDatagram(); t != nil {
			got = t.Probe
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
