package section

import (
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
)

// The reason is about the largest difference, and names a limit that both networks share.
func TestReasonFor(t *testing.T) {
	cell := func(probe string) analysis.Cell { return analysis.Cell{Network: "vxlan", Probe: probe} }
	path := explain.Statement{Subject: explain.Path, Cells: []analysis.Cell{cell("udp-rr")}, Text: "a response spends more on the path"}
	cost := explain.Statement{Subject: explain.Cost, Cells: []analysis.Cell{cell("udp-rate")}, Text: "a datagram costs 1.86×"}
	open := explain.Statement{Subject: explain.Ordinary, Cells: []analysis.Cell{cell("udp-rate")}, Text: "the run does not show why it differs from host: UDP 0.5×"}
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
		{"not of another cell where the run does not show it", []explain.Statement{path, open}, "udp-rate", "Why vxlan: The run does not show why it differs from host: UDP 0.5×."},
		{"of another cell than that", []explain.Statement{path, open}, "udp-rr", "Why vxlan: A response spends more on the path."},
		{"nothing", nil, "udp-rate", ""},
	} {
		if got := lang.Text(reasonFor(explain.Network{Name: "vxlan", Statements: c.said}, cell(c.probe))).String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Where no ratio differs, the answer says which part does most; nothing where none has an interval without 1.
func TestInside(t *testing.T) {
	of := func(subject explain.Subject, text lang.Text, i stat.Interval) explain.Statement {
		return explain.Statement{Subject: subject, Text: text, Number: &finding.Number{Value: i}}
	}
	at := func(center float64) stat.Interval {
		return stat.Interval{Center: center, Lo: center / 1.2, Hi: center * 1.2, Confidence: 0.95}
	}
	networks := []explain.Network{
		{Name: "bridged", Statements: []explain.Statement{of(explain.Cost, "a datagram costs 1.5×", at(1.5)), of(explain.Cause, "a queue dropped 90 %", at(0.9))}},
		{Name: "vxlan", Statements: []explain.Statement{of(explain.Path, "a response spends a third on the path", at(1.0/3)), of(explain.Cost, "open", stat.Interval{Center: 9})}},
	}
	if got := lang.Text(inside(networks)).String(); got != "A closer look at vxlan does show a difference: A response spends a third on the path." {
		t.Errorf("%q", got)
	}
	networks[0].Statements[0].Number.Value, networks[1].Statements[0].Number.Value = at(1.1), at(0.9)
	if got := inside(networks); got != "" {
		t.Errorf("%q, want nothing", got)
	}
}
