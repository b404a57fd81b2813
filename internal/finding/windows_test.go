package finding

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
)

// A buffer that is enough for the baseline, or that begins large, is not what closes the receiver's window.
func TestWindowIsNotTheBuffers(t *testing.T) {
	for _, c := range []struct {
		name         string
		own, there   map[string]string // settings of the receiver's node
		want, unlike string
	}{
		{"a small buffer", map[string]string{rmem: "4096 131072 1048576"}, map[string]string{rmem: "4096 131072 33554432"}, "raise the receiver's buffer", "not known"},
		{"the baseline's", map[string]string{rmem: "4096 131072 1048576"}, map[string]string{rmem: "4096 131072 1048576"}, "can grow to 1,048,576 bytes: whether its program reads too slowly, or something bounds its window, such as a route, is not known", "raise"},
		{"one that begins large", map[string]string{rmem: "4096 33554432 33554432", moderate: "0"}, nil, "is not known", "does not grow"},
	} {
		rs, o := watched("tcp", func(o observed) {
			o.Sender.TCP.RwndLimited = 0.03
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
