package finding

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// observed is a trial that a case changes.
type observed struct {
	*record.Result
	*evidence.Trial
	places map[string]evidence.Node
}

// set replaces a value of the whole trial or adds it.
func (o observed) set(q record.Quantity, unit string, v float64) {
	for i := range o.Values {
		if o.Values[i].Key() == q.Whole() {
			o.Values[i].Value = v
			return
		}
	}
	o.Values = append(o.Values, q.Whole().Value(unit, v))
}

// hop returns a hop by node and device.
func (o observed) hop(in, dev string) *evidence.Hop {
	i := slices.IndexFunc(o.Path, func(h evidence.Hop) bool { return h.In == in && h.Dev == dev })
	return &o.Path[i]
}

// device changes the settings of a device.
func (o observed) device(in, dev string, change func(*evidence.Device)) {
	d := o.places[in].Devices[dev]
	d.Features = maps.Clone(d.Features)
	change(&d)
	o.places[in].Devices[dev] = d
}

// place changes the settings of a node.
func (o observed) place(in string, change func(*evidence.Node)) {
	p := o.places[in]
	change(&p)
	o.places[in] = p
}

// lose takes packets away from a hop on.
func (o observed) lose(from int, packets float64) {
	for i := from; i < len(o.Path); i++ {
		f := &o.Path[i].Data
		f.Bytes -= packets * f.Size()
		f.Packets -= packets
	}
	c := o.Nodes["h2p1"]
	for _, name := range []string{"ip.InReceives", "ip.InDelivers", "udp.InDatagrams"} {
		if c[name] > 0 {
			c[name] -= packets
		}
	}
	o.fail(packets)
}

// fail lets the ends notice a loss.
func (o observed) fail(packets float64) {
	if o.Protocol == "tcp" {
		o.Nodes["h1p1"]["tcp.RetransSegs"] += packets
		return
	}
	o.set(record.Loss, "1", packets/o.Path[0].Data.Packets)
}

// resize gives hops from one on packets of another size, in total as many bytes.
func (o observed) resize(from, to int, size float64) {
	for i := from; i < to; i++ {
		f := &o.Path[i].Data
		f.Packets = f.Bytes / size
	}
}

const sentPackets = 10000.0

// healthy returns the evidence of a trial over a VXLAN overlay without any problem.
func healthy(protocol string) (*evidence.Trial, *evidence.Settings) {
	size := 1440.0
	if protocol == "tcp" {
		size = 48000
	}
	flow := func(extra float64) evidence.Flow {
		return evidence.Flow{Packets: sentPackets, Bytes: sentPackets * (size + extra)}
	}
	t := &evidence.Trial{Format: evidence.Format, Protocol: protocol, Seconds: 0.1, Window: 0.05,
		Sender:   evidence.End{Node: "h1p1", Host: "lab", CPUs: []int{0}, CPU: 0.049, Wait: 0.0004},
		Receiver: evidence.End{Node: "h2p1", Host: "lab", CPUs: []int{1}, CPU: 0.02, Wait: 0.0004},
		Path: []evidence.Hop{
			{In: "h1p1", Dev: "eth0", Out: true, Data: flow(0)},
			{In: "h1", Dev: "p1", Data: flow(0)},
			{In: "h1", Dev: "vx0", Out: true, Data: flow(0)},
			{In: "h1", Dev: "eth0", By: "vxlan", Out: true, Data: flow(50)},
			{In: "h2", Dev: "eth0", Data: flow(50)},
			{In: "h2", Dev: "vx0", By: "vxlan", Data: flow(0)},
			{In: "h2", Dev: "p1", Out: true, Data: flow(0)},
			{In: "h2p1", Dev: "eth0", Data: flow(0)},
		},
		Nodes: map[string]sample.Counters{
			"h1p1": {},
			"h2p1": {"ip.InReceives": sentPackets, "ip.InDelivers": sentPackets, "udp.InDatagrams": sentPackets, "netstat.InOctets": sentPackets * (size - 14)},
		},
		Hosts: map[string]sample.Counters{"lab": {"softnet.processed": 6 * sentPackets}},
	}
	if protocol == "tcp" {
		delete(t.Nodes["h2p1"], "udp.InDatagrams")
		t.Sender.TCP = &evidence.TCP{Busy: 0.05, RwndLimited: 0.005, SegmentsOut: 30 * sentPackets, Window: 120}
	}
	s := &evidence.Settings{Format: evidence.Format, Places: map[string]evidence.Node{}}
	for _, h := range t.Path {
		p, known := s.Places[h.In]
		if !known {
			p = evidence.Node{Devices: map[string]evidence.Device{}, BridgeNF: map[string]string{"net.bridge.bridge-nf-call-iptables": "0"}, Rules: new(int), PacketRules: new(int), Sysctl: map[string]string{"net.ipv4.tcp_wmem": "4096 16384 4194304"}}
			s.Places[h.In] = p
		}
		d := evidence.Device{Kind: "veth", MTU: 1450, GSOMax: 65536, GROMax: 65536, Qdisc: "noqueue", Features: map[string]bool{"tx-checksum-ip-generic": true,
			"tx-generic-segmentation": true, "tx-tcp-segmentation": true, "tx-udp_tnl-segmentation": true}}
		if h.In == "h1" && h.Dev == "eth0" || h.In == "h2" && h.Dev == "eth0" {
			d.MTU = 1500
		}
		p.Devices[h.Dev] = d
	}
	return t, s
}

// watched returns a run of 12 blocks whose network vx has evidence, after a change of each of its trials.
func watched(protocol string, change func(observed)) ([]record.Result, analysis.Options) {
	rs := sound(12)
	o := analysis.Options{Baseline: "host", Evidence: map[string]*evidence.Trial{}, Settings: map[string]*evidence.Settings{}}
	for i := range rs {
		r := &rs[i]
		t, s := healthy(protocol)
		r.Observed["path.mtu"], r.Observed["path.overhead"] = "1450", "50"
		if protocol == "udp" {
			r.Observed["datagram"] = "1398"
		}
		r.Values = append(r.Values, record.Value{Name: "cpu.own.per.bit", Unit: "s/bit", Value: 1e-9 * (1 + 0.001*float64(i%7))}, record.Value{Name: "packet.rate", Unit: "packet/s", Value: 1e5})
		if protocol == "udp" {
			r.Values = append(r.Values, record.Value{Name: "loss", Unit: "1"})
		}
		if r.Config["network"] == "vx" {
			change(observed{r, t, s.Places})
		}
		o.Evidence[r.Trial], o.Settings[r.Trial] = stored(t), s
	}
	return rs, o
}

// stored returns what a report reads of evidence: without the counters that no rule needs.
func stored(t *evidence.Trial) *evidence.Trial {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err) // of a number that JSON lacks
	}
	var p evidence.Parser
	if t, err = p.Parse(b); err != nil {
		panic(err)
	}
	return t
}

// Each rule finds its own problem at its place and no other, with a number; nothing is found just below its
// threshold, nor in a run without evidence.
func TestWatchedRules(t *testing.T) {
	for _, c := range watchedCases {
		t.Run(strings.Join([]string{c.rule, c.protocol, c.name}, " "), func(t *testing.T) {
			rs, o := watched(c.protocol, c.change)
			if c.rule == "tool-limited" {
				for i := range rs {
					used(&rs[i], record.CPUThread.Thread("h1", sample.EngineClient, ""), 0.99)
					if rs[i].Config["network"] == "host" {
						e := o.Evidence[rs[i].Trial]
						e.Path = e.Path[3:5]
					}
					set(&rs[i], record.Throughput, 1e9*(1+0.01*float64(i/2%3))*(1+0.001*float64(i%2)*float64(i/2%2-i/4%2)))
				}
			}
			for i := range rs {
				if c.there != nil && rs[i].Config["network"] == "host" {
					c.there(&rs[i])
				}
			}
			text := ""
			all := Check(analysis.New(rs, o))
			for _, f := range all {
				switch {
				case f.Rule != c.rule && !slices.Contains(c.also, f.Rule):
					t.Errorf("rule %s: %s", f.Rule, f)
				case f.Rule == c.rule:
					text += f.String() + "\n"
					if f.Place != c.place || f.Number == nil && f.Rule != "unlike-peer" {
						t.Errorf("place %q, number %v, want %q and a number", f.Place, f.Number, c.place)
					}
					if n := f.Number; n != nil && !(n.Value.Bounded() && n.Value.Lo > 0) {
						t.Errorf("number %+v", *n)
					}
					if x := f.Test; x != nil && (x.Metric == "" || x.Factor <= 0 || x.Factor == 1 || len(x.Fix)+len(x.Options)+len(x.Levels)+len(x.Network) == 0) {
						t.Errorf("test %+v", *x)
					}
				}
			}
			if c.rule == "" && len(all) > 0 || !strings.Contains(text, c.want) {
				t.Errorf("%q, want %q", text, c.want)
			}
			o.Evidence = nil
			for _, f := range Check(analysis.New(rs, o)) {
				if f.Rule == c.rule {
					t.Errorf("without evidence: %s", f)
				}
			}
		})
	}
}

// A test changes what it can: where the study itself, the kernel or the probe sets the cause, it would change
// nothing and refute a true finding, or could not be built.
func TestRefutingRuns(t *testing.T) {
	queue := func(o observed) {
		o.lose(2, 300)
		o.hop("h1", "eth0").Queue = &evidence.Queue{Kind: "tbf", Packets: 9700, Drops: 300}
	}
	full := func(o observed) {
		o.Nodes["h2p1"]["udp.RcvbufErrors"] = 100
		o.fail(100)
	}
	for _, c := range []struct {
		rule, protocol, name string
		change               func(observed)
		want                 string // "" for none
	}{
		{"queue-drop", "udp", "of nobody", queue, "loss 0.5"},
		{"queue-drop", "udp", "of the study", func(o observed) { queue(o); o.Observed["link"] = "1e9" }, ""},
		{"queue-drop", "tcp", "of nobody", queue, "throughput 1.05"},
		{"backlog-drop", "udp", "of masks that the study does not set", func(o observed) {
			o.lose(1, 50)
			o.hop("h1p1", "eth0").Data.Drops, o.hop("h1", "p1").Data.Drops = 50, 50
			o.Hosts["lab"]["softnet.dropped"] = 50
			o.device("h1", "p1", func(d *evidence.Device) { d.RPS = []string{"2"} })
		}, ""},
		{"socket-buffer", "udp", "small", func(o observed) { full(o); o.Observed["rcvbuf"] = "32768" }, "loss 0.5 rcvbuf"},
		{"socket-buffer", "udp", "as large as the kernel grants", func(o observed) { full(o); o.Observed["rcvbuf"] = "425984" }, ""},
		{"receive-window", "tcp", "of a small buffer", func(o observed) { o.Sender.TCP.RwndLimited, o.Observed["rcvbuf"] = 0.03, "65536" }, "throughput 1.02 rcvbuf"},
		{"spurious-retransmissions", "tcp", "that arrived twice", func(o observed) { o.Sender.TCP.Retransmitted, o.Sender.TCP.Duplicates = 600, 600 }, ""},
		{"receive-window", "tcp", "that adapts", func(o observed) { o.Sender.TCP.RwndLimited, o.Observed["rcvbuf"] = 0.03, "131072" }, "throughput 1.02"},
	} {
		found := 0
		for _, f := range Check(analysis.New(watched(c.protocol, c.change))) {
			if f.Rule != c.rule {
				continue
			}
			found++
			got := ""
			if x := f.Test; x != nil {
				got = strings.Join(append([]string{string(x.Metric), fmt.Sprint(x.Factor)}, slices.Sorted(maps.Keys(x.Options))...), " ")
			}
			if got != c.want {
				t.Errorf("%s %s: test %q, want %q", c.rule, c.name, got, c.want)
			}
		}
		if found != 1 {
			t.Errorf("%s %s: %d findings", c.rule, c.name, found)
		}
	}
}

// A conclusion needs most of at least three blocks.
func TestFewBlocksSayNothing(t *testing.T) {
	for blocks, want := range map[int]bool{2: false, 3: true} {
		rs, o := watched("udp", func(o observed) { o.lose(4, 300) })
		found := slices.ContainsFunc(Check(analysis.New(rs[:2*blocks], o)), func(f Finding) bool { return f.Rule == "drop-on-path" })
		if found != want {
			t.Errorf("%d blocks: found %v", blocks, found)
		}
	}
}

// Findings that follow from others about the same cell are left out; those about other cells stay.
func TestPrecedence(t *testing.T) {
	cell := func(network string) []analysis.Cell { return []analysis.Cell{{Probe: "p", Network: network}} }
	number := &Number{}
	for cause, effects := range explains {
		for _, effect := range effects {
			got := explained(&analysis.Run{}, []Finding{{Rule: effect, Cells: cell("a")}, {Rule: cause, Cells: cell("a"), Number: number}, {Rule: effect, Cells: cell("b")}})
			if len(got) != 2 || got[0].Rule != cause || got[1].Cells[0].Network != "b" {
				t.Errorf("%s explains %s: %+v", cause, effect, got)
			}
			if slices.Contains(explains[effect], cause) {
				t.Errorf("%s and %s explain each other", cause, effect)
			}
		}
		for _, id := range append([]string{cause}, effects...) {
			if !slices.ContainsFunc(Rules(), func(r Rule) bool { return r.ID == id }) {
				t.Errorf("no rule %s", id)
			}
		}
	}
	for _, c := range []struct {
		name, place string
		stays       bool
	}{{"alone", "", false}, {"same device", "h1 eth0", false}, {"same node", "h1", false}, {"elsewhere", "h2p1", true}} {
		all := []Finding{{Rule: "unlike-peer", Cells: cell("a"), Place: "h1 eth0"}}
		if c.place != "" {
			all = append(all, Finding{Rule: atDevice, Cells: cell("a"), Place: c.place, Number: number})
		}
		if got := len(explained(&analysis.Run{}, all)) == len(all); got != c.stays {
			t.Errorf("%s: stays %v", c.name, got)
		}
	}
}

// The cost of bridge-nf can also be the study's own factor.
func TestBridgeNFAsFactor(t *testing.T) {
	rs, o := watched("udp", func(observed) {})
	rs = slices.DeleteFunc(rs, func(r record.Result) bool { return r.Config["network"] == "host" })
	for i := range rs {
		rs[i].Config["bridge-nf"] = "off"
		on := rs[i]
		on.Config, on.Trial = map[string]string{"network": "vx", "probe": "tcp-stream", "bridge-nf": "on"}, on.Trial+"-on"
		on.Values = slices.Clone(on.Values)
		set(&on, "cpu.own.per.bit", 1.3e-9)
		rs = append(rs, on)
		o.Evidence[on.Trial] = o.Evidence[rs[i].Trial]
	}
	o.Baseline = ""
	var found []string
	for _, f := range Check(analysis.New(rs, o)) {
		if f.Rule == "bridge-nf" {
			found = append(found, fmt.Sprint(f.Cells, f.Test.Levels))
		}
	}
	if want := []string{"[vx, tcp-stream, bridge-nf on] map[bridge-nf:off]"}; !slices.Equal(found, want) {
		t.Errorf("%q, want %q", found, want)
	}
}
