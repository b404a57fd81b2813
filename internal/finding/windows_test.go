package finding

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/record"
)

// A buffer that is enough for the baseline, or that begins large, is not what closes the receiver's window.
func TestWindowIsNotTheBuffers(t *testing.T) {
	for _, c := range []struct {
		name         string
		own, there   map[string]string // settings of the receiver's node
		full         bool              // the receiver's program uses all of a CPU
		rate         float64           // bit/s; 0 for that of a sound network
		want, unlike string
	}{
		{"a small buffer", map[string]string{rmem: "4096 131072 1048576"}, map[string]string{rmem: "4096 131072 33554432"}, false, 0, "raise the receiver's buffer", "not known"},
		{"the baseline's", map[string]string{rmem: "4096 131072 1048576"}, map[string]string{rmem: "4096 131072 1048576"}, false, 0, "can grow to 1,048,576 bytes: whether its program reads too slowly, or something bounds its window, such as a route, is not known", "raise"},
		{"one that begins large", map[string]string{rmem: "4096 33554432 33554432", moderate: "0"}, nil, false, 0, "is not known", "does not grow"},
		{"less than a large packet, which fills the CPU with small ones", map[string]string{rmem: "4096 8192 8192"}, map[string]string{rmem: "4096 131072 33554432"}, true, 1e8,
			"the receiver's window held TCP back for 60 % [60, 60] of its busy time: its buffer can grow to 8,192 bytes; raise the receiver's buffer", "not known"},
		{"the baseline's, and a full CPU", map[string]string{rmem: "4096 8192 8192"}, map[string]string{rmem: "4096 8192 8192"}, true, 1e8, "", "window"},
		{"room for a large packet, and a full CPU", map[string]string{rmem: "4096 131072 131072"}, map[string]string{rmem: "4096 131072 33554432"}, true, 1e8, "", "window"},
	} {
		rs, o := watched("tcp", func(o observed) {
			o.Sender.TCP.RwndLimited = 0.03
			if c.full {
				o.Receiver.CPU = o.Window
			}
			if c.rate > 0 {
				o.set(record.Throughput, "bit/s", c.rate)
			}
			o.place("h2p1", func(p *evidence.Node) { p.Sysctl = c.own })
		})
		for _, r := range rs {
			if p := o.Settings[r.Trial].Places["h2p1"]; r.Config["network"] == "host" {
				p.Sysctl = c.there
				o.Settings[r.Trial].Places["h2p1"] = p
			}
		}
		said := ""
		for _, f := range Check(analysis.New(rs, o)) {
			if f.Rule == "receive-window" {
				said += f.String()
			}
		}
		if !strings.Contains(said, c.want) || strings.Contains(said, c.unlike) {
			t.Errorf("%s: %q, want %q and not %q", c.name, said, c.want, c.unlike)
		}
	}
}
