package section

import (
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/lang"
)

// The reason is about the largest difference, and names a limit that both networks share.
func TestReasonFor(t *testing.T) {
	cell := func(probe string) analysis.Cell { return analysis.Cell{Network: "vxlan", Probe: probe} }
	path := explain.Statement{Subject: explain.Path, Cells: []analysis.Cell{cell("udp-rr")}, Text: "a response spends more on the path"}
	cost := explain.Statement{Subject: explain.Cost, Cells: []analysis.Cell{cell("udp-rate")}, Text: "a datagram costs 1.86×"}
	full := explain.Statement{Subject: explain.Cause, Rule: "full-thread", Cells: []analysis.Cell{cell("udp-rate")}, Text: "that thread is the limit"}
	for _, c := range []struct {
		name  string
		said  []explain.Statement
		probe string
		want  string
	}{
		{"of the cell", []explain.Statement{path, cost}, "udp-rate", "Why vxlan: A datagram costs 1.86×."},
		{"of another cell", []explain.Statement{path}, "udp-rate", "Why vxlan: A response spends more on the path."},
		{"a limit alone", []explain.Statement{full}, "udp-rate", "Why vxlan: That thread is the limit."},
		{"rather than a limit", []explain.Statement{full, cost}, "udp-rate", "Why vxlan: A datagram costs 1.86×."},
		{"nothing", nil, "udp-rate", ""},
	} {
		if got := lang.Text(reasonFor(explain.Network{Name: "vxlan", Statements: c.said}, cell(c.probe))).String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
