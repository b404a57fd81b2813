package finding

import (
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/record"
)

// A limit of one direction is found in that direction, at the device that is on the way then, and nothing is said of the
// other direction's device at the same place of its path.
func TestOneDirection(t *testing.T) {
	rs, o := watched("tcp", func(o observed) {
		if o.Block%2 == 1 {
			return
		}
		q := &evidence.Queue{Kind: "tbf", Packets: sentPackets, Overlimits: 3000}
		o.hop("h2", "eth0").Queue = q
		o.device("h2", "eth0", func(d *evidence.Device) { d.Qdisc, d.Limit = "tbf", 2e8 })
		o.set(record.Throughput, "bit/s", 1.9e8)
	})
	for i := range rs {
		record.Swapped.Put(rs[i].Observed, rs[i].Block%2 == 0)
		e := o.Evidence[rs[i].Trial]
		if rs[i].Block%2 == 0 {
			*e = *reversed(e)
			e.Nodes["h1p1"], e.Nodes["h2p1"] = e.Nodes["h2p1"], e.Nodes["h1p1"]
		} else if h := e.Path[3]; rs[i].Config["network"] == "vx" && h.In == "h1" {
			e.Path[3].Queue = &evidence.Queue{Kind: "noqueue", Packets: sentPackets, Overlimits: 3000}
		}
		for j := range e.Path {
			e.Path[j].Data, e.Path[j].Back = evidence.Flow{Packets: sentPackets, Bytes: sentPackets * 48000}, evidence.Flow{}
		}
	}
	found, differ := 0, false
	for _, f := range Check(analysis.New(rs, o)) {
		differ = differ || f.Rule == "directions-differ" && f.Cells[0].Network == "vx" && strings.Contains(f.Text.String(), "from h2p1 to h1p1 is 0.38×")
		if f.Rule != "queue-limited" {
			continue
		}
		found++
		if text := f.Text.String(); f.Place != "h2 eth0" || !strings.HasPrefix(text, "from h2p1 to h1p1: a queueing discipline (tbf) on h2 eth0 limits the rate to 200 Mbit/s") {
			t.Errorf("%s: %s", f.Place, text)
		}
	}
	if !differ {
		t.Error("the directions do not differ")
	}
	if found != 1 {
		t.Errorf("%d limits, want that of h2 eth0", found)
	}
}

// What both directions show of one place is said once.
func TestBothDirections(t *testing.T) {
	a, b := Finding{Place: "h2", Text: "x", Cells: []analysis.Cell{{Probe: "p", Network: "n"}}, way: way{"a", "b"}}, Finding{}
	b = a
	b.way = way{"b", "a"}
	for ways, want := range map[int]string{2: "in both directions: x", 6: "from a to b, and alike in one other direction: x"} {
		if got := likewise([]Finding{a, b}, ways); len(got) != 1 || got[0].Text.String() != want {
			t.Errorf("of %d: %+v", ways, got)
		}
	}
	b.Place = "h1"
	if got := likewise([]Finding{a, b}, 2); len(got) != 2 || got[1].Text.String() != "from b to a: x" {
		t.Errorf("%+v", got)
	}
}

// Between two machines that exist a tunnel's packets are those of the wire; which device below cuts them is not seen.
func TestCutBetweenMachines(t *testing.T) {
	for host, want := range map[string]bool{"lab": true, "tunnel": false, "other": false} {
		rs, o := watched("tcp", func(o observed) {
			if host == "tunnel" {
				o.device("h2", "vx0", func(d *evidence.Device) { d.Kind = "vxlan" })
			}
			o.resize(5, len(o.Path), 1512)
			o.Path = slices.Delete(o.Path, 3, 5) // a path of tunnel devices alone
			o.Receiver.Host, o.Hosts[host] = host, o.Hosts["lab"]
		})
		found := slices.ContainsFunc(Check(analysis.New(rs, o)), func(f Finding) bool { return f.Rule == "segmentation-lost" })
		if found != want {
			t.Errorf("on %s: %v, want %v", host, found, want)
		}
	}
}
