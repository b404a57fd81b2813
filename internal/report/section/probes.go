package section

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// manyTables is how many tables of one probe a page shows open.
const manyTables = 4

// probeSections has a section per probe: its figures, and a part for each table.
func probeSections(s source) (out []doc.Section) {
	across := map[string][]doc.Figure{} // by probe
	for _, w := range s.p.Sweeps(minLine) {
		across[w.Probe] = append(across[w.Probe], s.sweeps(w)...)
	}
	for _, m := range s.p.Matrices() {
		if m.Contrast < 0 { // the others stand with their comparison
			across[m.Probe] = append(across[m.Probe], s.matrices(m)...)
		}
	}
	for _, tables := range byProbe(s.p.Tables) {
		out = append(out, s.probe(tables, across[tables[0].Probe]))
	}
	return out
}

func (s source) probe(tables []analysis.Table, across []doc.Figure) doc.Section {
	first := tables[0]
	x := doc.Section{ID: "probe " + first.Probe, Title: s.Title(first.Probe), Probe: first.Probe, About: s.about(first), Figures: across, Flat: true, Fold: true, In: doc.Full}
	many := len(tables) > manyTables
	for _, t := range tables {
		part := s.table(t)
		if across != nil { // of a single level, they have one dot for each network
			part.Figures = slices.DeleteFunc(part.Figures, func(f doc.Figure) bool { return f.ID == tableID(t)+" ratio" || f.ID == tableID(t)+" median" })
		}
		part.Fold = many || across != nil || len(tables) > 1 && len(s.p.Contrasts) > 0 // curves and comparisons say more
		x.Parts = append(x.Parts, part)
	}
	if many && across == nil {
		x.Tables = []doc.Table{s.levelOverview(tables)}
	}
	return x
}

func (s source) table(t analysis.Table) doc.Section {
	id := tableID(t)
	x := doc.Section{ID: id + " cell", Title: s.heading(t), Label: prose.Levels(t.Levels), Figures: s.figures(t), Notes: s.notes(t),
		Tables: []doc.Table{doc.Tabulate(id, columns(t, s.p.Baseline)...).Named(s.p.Baseline)}}
	if c := ceilings(t); c != "" {
		x.Notes = append([]string{c}, x.Notes...)
	}
	if ps := percentiles(t); ps != nil { // avoids a nil pointer in an interface
		x.Data = ps
	}
	if far := s.remarks(t, finding.OutlierBlocks); far != nil { // a page draws them
		x.Parts = []doc.Section{{ID: id + " far", Notes: far, Flat: true, In: []doc.Medium{doc.Terminal, doc.Markdown}}}
	}
	return x
}

func tableID(t analysis.Table) string { return "probe " + t.Probe + " " + prose.Levels(t.Levels) }

// heading names a table without context.
func (s source) heading(t analysis.Table) string {
	of, m := s.Under(t.Probe, t.Levels), MetricName(t.Metric)
	switch {
	case m == "":
		return of
	case strings.HasSuffix(doc.English(s.Title(t.Probe)), doc.English(m)): // "UDP packet rate" names the metric
		return say("%s: %s", of, Better(t.Metric, t.Unit))
	}
	return say("%s: %s, %s", of, m, Better(t.Metric, t.Unit))
}

// about describes a probe and its number.
func (s source) about(t analysis.Table) string {
	of := word(s.Words[t.Probe].Method)
	if t.Metric == "" {
		return of
	}
	of = prose.Sentences(of, say("%s: %s.", prose.Capital(MetricName(t.Metric)), Better(t.Metric, t.Unit)))
	if hasSplit(t) {
		of = prose.Sentences(of, splitNote)
	}
	if hasClients(t) {
		of = prose.Sentences(of, clientsNote)
	}
	return of
}

// ceilings lists the header ceilings by network.
func ceilings(t analysis.Table) string {
	var parts []string
	for _, r := range t.Rows {
		if c := r.Wire.Ceiling; c > 0 {
			parts = append(parts, r.Network+" "+unit.Format(c, t.Unit))
		}
	}
	if parts == nil {
		return ""
	}
	return say("header ceiling: %s", prose.List(parts))
}

// Percentiles holds those of one row's merged histogram, in seconds.
type Percentiles struct {
	Network string             `json:"network"`
	Seconds map[string]float64 `json:"seconds"` // "50", "99", "99.9"
}

func percentiles(t analysis.Table) (out []Percentiles) {
	for _, row := range t.Rows {
		p := Percentiles{row.Network, map[string]float64{}}
		for _, share := range []float64{50, 90, 99, 99.9, 99.99} {
			if v, ok := row.Percentile(share / 100); ok {
				p.Seconds[fmt.Sprint(share)] = v
			}
		}
		if len(p.Seconds) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// otherRuns says what a ratio of this run promises of others on this machine.
func otherRuns(ratio stat.Interval, b *analysis.OtherRuns) string {
	d := prose.Digits(ratio)
	here, over := prose.Fixed(ratio.Center, d)+prose.RatioInterval(ratio), prose.Bracket(b.Interval, d)
	return say("%s in this run; %s over other runs (%d on this machine differ by about %s)", here, over, b.Runs, prose.Coarse(b.Tau))
}

// notes returns the findings about a table. One about several networks appears once.
func (s source) notes(t analysis.Table) []string {
	var out said
	for _, r := range t.Rows {
		for _, f := range s.byCell[t.Cell(r).String()] {
			if f.Rule != finding.OutlierBlocks && f.Rule != finding.CPUModes {
				out.add(r.Network, string(f.Say()))
			}
		}
		if r.Same && r.Detectable > 0 && !r.Ratio.Open() {
			would := say("a difference of %s or more would have shown", prose.Coarse(r.Detectable))
			if r.Detectable > TooNoisy {
				would = say("too noisy to tell: a factor of two could hide")
			}
			out.add(r.Network, would)
		}
		if b := r.OtherRuns; b != nil && b.Interval.Bounded() {
			out.add(r.Network, otherRuns(r.Ratio, b))
		}
		out.add(r.Network, stallNotes(r, s.p.Baseline)...)
		out.add(r.Network, doc.Warnings(r.Ratio)...)
		for _, w := range r.Path.Warnings {
			if !slices.Contains(r.Ratio.Warnings, w) {
				out.add(say("the network path of %s", r.Network), string(w))
			}
		}
		out.add(r.Network, cpuNotes(r)...)
	}
	return out.lines(t.Rows)
}

// remarks returns the findings of one rule about a table.
func (s source) remarks(t analysis.Table, rule string) []string {
	var out said
	for _, r := range t.Rows {
		for _, f := range s.byCell[t.Cell(r).String()] {
			if f.Rule == rule {
				out.add(r.Network, string(f.Say()))
			}
		}
	}
	return out.lines(t.Rows)
}

// said collects remarks, each with its subjects.
type said struct{ doc.Groups[string, string] }

func (s *said) add(of string, remarks ...string) {
	for _, w := range remarks {
		s.Groups.Add(w, of)
	}
}

// lines replaces nearly complete lists of many rows with "all", or "all but" one.
func (s *said) lines(rows []analysis.Row) (out []string) {
	for _, w := range s.Keys {
		names := s.Of[w]
		who := prose.List(names)
		others := slices.DeleteFunc(slices.Clone(rows), func(r analysis.Row) bool { return slices.Contains(names, r.Network) })
		if len(names) > 3 && len(names)+len(others) == len(rows) {
			switch len(others) {
			case 0:
				who = say("all")
			case 1:
				who = say("all but %s", others[0].Network)
			}
		}
		out = append(out, say("%s: %s", who, w))
	}
	return out
}
