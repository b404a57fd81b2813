package finding

import (
	"slices"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/record"
)

// What both networks have explains no difference between them: it hides no finding that only one has, and is marked.
func TestSharedCauses(t *testing.T) {
	for _, c := range []struct {
		name              string
		here, there       float64 // time that the receiver waits, s of 0.05
		window, closed    float64 // time that TCP waited for the receiver's window, here and in the baseline
		shared, hidesHere bool
	}{
		{"only here", 0.02, 0.0004, 0.03, 0.005, false, true},
		{"to the same degree, and the window only here", 0.02, 0.02, 0.03, 0.005, true, false},
		{"a little more than there", 0.0102, 0.0099, 0.03, 0.005, false, true},
		{"to the same degree, and the window in both", 0.02, 0.02, 0.03, 0.03, true, true},
		{"more than there", 0.03, 0.015, 0.03, 0.005, false, true},
	} {
		rs, o := watched("tcp", func(o observed) {
			o.Receiver.Wait, o.Sender.TCP.RwndLimited = c.here, c.window
			o.set(record.CPUUsed, "core", 1.9)
		})
		for i := range rs {
			if r := &rs[i]; r.Config["network"] == "host" {
				e := o.Evidence[r.Trial]
				e.Receiver.Wait, e.Sender.TCP.RwndLimited = c.there, c.closed
				set(r, record.CPUUsed, 1.9)
			}
		}
		of := func(all []Finding, rule string) []Finding {
			return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.Rule != rule || f.Cells[0].Network != "vx" })
		}
		all := Check(analysis.New(rs, o))
		wait, window := of(all, "contention"), of(all, "receive-window")
		if len(wait) != 1 || wait[0].Shared != c.shared || (len(window) == 0) != c.hidesHere {
			t.Errorf("%s: contention %+v, window %v", c.name, wait, window)
		}
	}
}

// A socket that drops as much in the baseline, but in too few blocks or too irregularly for a finding, explains no difference.
func TestLossThatTheBaselineHasToo(t *testing.T) {
	for _, c := range []struct {
		name   string
		there  func(block int) float64
		shared bool
	}{
		{"in every third block, much", func(block int) float64 { return float64(block%3/2) * 5000 }, true},
		{"never", func(int) float64 { return 0 }, false},
		{"a twentieth of it", func(int) float64 { return 50 }, false},
	} {
		full := func(o observed, packets float64) {
			o.Nodes["h2p1"]["udp.InDatagrams"] -= packets
			o.Nodes["h2p1"]["udp.RcvbufErrors"] = packets
			o.fail(packets)
		}
		rs, o := watched("udp", func(o observed) { full(o, 1000) })
		for i := range rs {
			if r := &rs[i]; r.Config["network"] == "host" {
				full(observed{Result: r, Trial: o.Evidence[r.Trial]}, c.there(r.Block))
			}
		}
		found := false
		for _, f := range Check(analysis.New(rs, o)) {
			if f.Rule == atSocket && f.Cells[0].Network == "vx" {
				found = true
				if f.Shared != c.shared {
					t.Errorf("%s: shared is %t: %s", c.name, f.Shared, f.Text)
				}
			}
		}
		if !found {
			t.Errorf("%s: the loss is not found", c.name)
		}
	}
}
