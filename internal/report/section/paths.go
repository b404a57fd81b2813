package section

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// pathSection shows the MTU of each network and the rate that its headers leave.
func pathSection(s source) []doc.Section {
	t := doc.Table{ID: "paths-table", Columns: []doc.Column{{Head: say("network"), Left: true, Kind: "name", Keep: 9}, {Head: say("MTU"), Unit: "byte", Base: "byte"},
		{Head: say("overhead"), Unit: "byte", Base: "byte"}, {Head: say("link")}, {Head: say("ceiling")}}}
	distant := false
	for _, n := range s.p.Networks {
		var mtu, overhead, link, ceilings, distance []string
		for _, t := range s.p.Tables {
			r, _ := t.Row(n) // a row without trials observed nothing
			mtu, overhead = addNew(mtu, r.Observed[record.PathMTU.Key()]), addNew(overhead, r.Observed[record.PathOverhead.Key()])
			distance = addNew(distance, distanceOf(r.Observed))
			if v := r.Wire.Link; v > 0 {
				link = addNew(link, unit.Format(v, "bit/s"))
			}
			if c := r.Wire.Ceiling; c > 0 {
				ceilings = append(ceilings, s.Under(t.Probe, t.Levels)+" "+unit.Format(c, t.Unit))
			}
		}
		if mtu == nil && overhead == nil && link == nil && ceilings == nil {
			continue
		}
		if link == nil {
			link = []string{say("no limit set")}
			if s.Target.Exists() {
				link = []string{"–"} // Machines has its speed, if it is known
			}
		}
		if ceilings == nil {
			ceilings = []string{"–"}
		}
		t.Rows = append(t.Rows, doc.Row{Network: n, Cells: doc.Texts(n, prose.List(mtu), prose.List(overhead), prose.List(link), strings.Join(ceilings, "\n"), strings.Join(distance, "\n"))})
		distant = distant || distance != nil
	}
	if t.Rows == nil {
		return nil
	}
	if distant {
		t.Columns = append(t.Columns, doc.Column{Head: say("distance")})
	} else {
		for i := range t.Rows {
			t.Rows[i].Cells = t.Rows[i].Cells[:len(t.Columns)]
		}
	}
	x := doc.Section{ID: "paths", Title: say("Paths"), In: []doc.Medium{doc.Page}, Tables: []doc.Table{t},
		About: say("Overhead is the bytes that encapsulation adds to every IP packet. The ceiling is the payload rate that the headers leave of the link: arithmetic, not a measurement.")}
	if ways := s.ways(); len(ways) > mostWays {
		if f, ok := s.wayFigure("other ways", ways[mostWays:]); ok {
			x.Parts = []doc.Section{{ID: "paths others", Title: say("The path of a packet through the other networks"), Fold: true, Figures: []doc.Figure{f}}}
		}
	}
	return []doc.Section{x}
}

// distanceOf describes what packets met between the hosts of a row's ends, each way; "" if nothing.
func distanceOf(o record.Observed) string {
	delay, ok := record.PathDelay.Get(o)
	if !ok {
		return ""
	}
	text := delay.String()
	if j := record.PathJitter.Of(o); j > 0 {
		text += " ± " + j.String()
	}
	if l := record.PathLoss.Of(o); l > 0 {
		text += say(", loss %s", unit.Percent(l))
	}
	return say("%s (%s)", text, record.DelayBy.Of(o))
}

func addNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
