package section

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/record"
)

// whoAndWhom draws the networks between two machines, or between each of several, with the same as lines
// for media without figures.
func (s source) whoAndWhom() (doc.Figure, []doc.Line) {
	d := chart.Machines{Left: s.side(0), Right: s.side(1)}
	var lines []doc.Line
	var alt []string
	for _, n := range s.p.Networks {
		l := chart.Link{Name: n, Color: s.color(n)}
		devices := [2]map[string]bool{{}, {}}
		mtus := map[string]bool{}
		at := [2]string{}
		for r := range s.p.Results() {
			if r.Config[analysis.Network] != n {
				continue
			}
			if mtu, ok := record.PathMTU.Get(r.Observed); ok {
				mtus[strconv.Itoa(mtu)] = true
			}
			ends := endsOf(r)
			if record.Swapped.Of(r.Observed) {
				ends[0], ends[1] = ends[1], ends[0]
			}
			for i, e := range ends {
				if e.host != "" {
					at[i], devices[i][e.device] = e.host, true
				}
			}
		}
		if len(devices[0]) == 0 || len(devices[1]) == 0 {
			continue
		}
		l.Left, l.Right = some(devices[0]), some(devices[1])
		if len(mtus) > 0 {
			l.About = "MTU " + some(mtus)
		}
		d.Links = append(d.Links, l)
		if s.p.Pairs == 0 {
			d.Left.Title, d.Right.Title = at[0], at[1]
			d.Left.Lines, d.Right.Lines = s.aboutMachine(at[0]), s.aboutMachine(at[1])
		}
		text := fmt.Sprintf("%s (%s) – %s (%s)", d.Left.Title, l.Left, d.Right.Title, l.Right)
		if l.About != "" {
			text += ", " + l.About
		}
		alt = append(alt, say("%s: %s", n, text))
		lines = append(lines, doc.Line{Network: n, Text: text, In: []doc.Medium{doc.Terminal, doc.Markdown}})
	}
	if lines == nil {
		return doc.Figure{}, nil
	}
	d.Alt = say("Measured paths: %s.", prose.Alternatives(alt))
	caption := say("Who was measured against whom")
	return doc.Figure{ID: "machines chart", Caption: caption, Chart: d}, lines
}

// side is one side of the drawing if pairs of several machines were measured: both have the same ones.
func (s source) side(n int) chart.Side {
	all := len(s.Machines)
	x := chart.Side{Title: []string{say("each of %s", prose.Count(all, "machine")), say("each other one")}[n]}
	const most = 6
	for i, m := range s.Machines {
		if n == 0 && i < most {
			x.Lines = append(x.Lines, strings.TrimSuffix(m.Name+", "+m.Zone, ", "))
		}
	}
	switch {
	case n == 0 && all > most:
		x.Lines[most-1] = say("… and %d more", all-most+1)
	case n == 1:
		x.Lines = []string{say("in rounds of"), say("disjoint pairs")}
	}
	return x
}

// aboutMachine returns the zone and the CPUs of a machine for the drawing.
func (s source) aboutMachine(name string) (out []string) {
	for _, d := range s.described() {
		if d.Name != name {
			continue
		}
		if d.Zone != "" {
			out = append(out, say("zone %s", d.Zone))
		}
		if d.CPUs > 0 {
			out = append(out, prose.Count(d.CPUs, "CPU"))
		}
	}
	return out
}

// some joins a few names of a set.
func some(set map[string]bool) string {
	all := slices.SortedFunc(maps.Keys(set), analysis.Natural)
	if len(all) > 3 {
		all = append(all[:2], say("%d others", len(all)-2))
	}
	return prose.List(all)
}
