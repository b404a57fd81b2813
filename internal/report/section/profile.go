package section

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/record"
)

// profileSection has a part for each probe and network: what the network adds to a packet over the baseline, by
// layer of the kernel.
func profileSection(s source) []doc.Section {
	cells := s.profiledCells()
	x := doc.Section{ID: "profile", Title: say("Where the CPU time goes"), Label: say("Profile"),
		About: say("CPU time by layer of the kernel, from trials of their own that sampled the CPUs at 1 kHz (raw/profile-…/%s, for go tool pprof). "+
			"A sample belongs to the layer of its innermost known function. A layer is a suggestion: removing it can save more or less, because other layers change with it.", "profile.pb.gz")}
	if len(s.Profiled) == 0 || len(s.p.Networks) == 0 {
		return nil
	}
	base := cmp.Or(s.p.Baseline, s.p.Networks[0])
	for _, key := range cells.Keys {
		of := map[string][]profile.Trial{}
		for _, t := range cells.Of[key] {
			of[t.Config[analysis.Network]] = append(of[t.Config[analysis.Network]], t)
		}
		for _, n := range s.p.Networks {
			if d, ok := profile.Compare(of[base], of[n], s.p.Confidence); ok && n != base {
				x.Parts = append(x.Parts, s.profilePart(key, d))
			}
		}
	}
	x.Notes = s.unprofiled()
	if x.Parts == nil && x.Notes == nil {
		return nil
	}
	return []doc.Section{x}
}

// profiledCells returns the profile trials by probe and levels, in the order of the results.
func (s source) profiledCells() (g doc.Groups[string, profile.Trial]) {
	for i := range s.Profiled {
		r := &s.Profiled[i]
		if p := s.Profiles[r.Trial]; p != nil && r.Status == record.OK {
			if t, ok := profile.TrialOf(r, p); ok {
				g.Add(s.Under(r.Config[analysis.Probe], factorLevels(r.Config)), t)
			}
		}
	}
	slices.SortFunc(g.Keys, func(a, b string) int { return strings.Compare(doc.English(a), doc.English(b)) })
	return g
}

func factorLevels(config map[string]string) map[string]string {
	levels := maps.Clone(config)
	delete(levels, analysis.Network)
	delete(levels, analysis.Probe)
	return levels
}

// unprofiled says which trials have no profile, and why.
func (s source) unprofiled() []string {
	var notes said
	seen := map[string]bool{}
	for _, r := range s.Profiled {
		of := say("%s over %s", s.Under(r.Config[analysis.Probe], factorLevels(r.Config)), r.Config[analysis.Network])
		if why := say("no profile: %s", word(r.Reason)); r.Status != record.OK && !seen[of+why] {
			seen[of+why] = true
			notes.add(of, why)
		}
	}
	return notes.lines(nil)
}

func (s source) profilePart(title string, d profile.Difference) doc.Section {
	id := "profile " + title + " " + d.Network
	rows := slices.Concat(d.Rows, []profile.Row{d.Sum})
	if math.Abs(d.Sum.Here-d.Engine.Here) > 0.01*d.Sum.Here { // services and kernel threads work, too
		rows = append(rows, d.Engine)
	}
	rows = append(rows, d.Clock)
	whole := func(v float64) float64 { return math.Round(v) + 0 } // no -0
	ns := func(head string, keep int, get func(profile.Row) float64) doc.Filled {
		return doc.Layout(doc.Column{Head: word(head), Unit: "ns", Base: "ns", Keep: keep}, rows, func(r profile.Row) doc.Cell {
			return doc.Cell{Text: prose.Fixed(whole(get(r)), 0), Value: doc.Number(get(r))}
		})
	}
	extra := ns("extra", 9, func(r profile.Row) float64 { return r.Extra.Center })
	extra.Kind = "value"
	t := doc.Tabulate(id+" table",
		doc.Names("layer", rows, func(r profile.Row) string { return word(r.Layer) }),
		ns(d.Baseline, 7, func(r profile.Row) float64 { return r.Base }), ns(d.Network, 8, func(r profile.Row) float64 { return r.Here }), extra,
		doc.Layout(doc.Column{Head: say("interval"), Unit: "ns", Base: "ns", Kind: "interval", Keep: 8}, rows, func(r profile.Row) doc.Cell {
			c := doc.IntervalCell(r.Extra, 1, 0)
			if c.Text != "" {
				c.Text = fmt.Sprintf("[%s, %s]", prose.Fixed(whole(r.Extra.Lo), 0), prose.Fixed(whole(r.Extra.Hi), 0))
			}
			return c
		}),
		doc.Layout(doc.Column{Head: say("removed by"), Left: true, Keep: 3}, rows, func(r profile.Row) doc.Cell {
			if r.Extra.Center <= 0 {
				return doc.Cell{}
			}
			return doc.Cell{Text: word(r.Off)}
		}))
	t.Columns[0].Whole = true
	for i := len(d.Rows); i < len(rows); i++ {
		t.Rows[i].Baseline = true // set apart
	}
	notes := []string{say("Each interval is over %s and holds by itself. The last row has the times that the engine's threads report by their own clocks for the same trials.", prose.Count(d.Blocks, "block"))}
	if off := d.Agree(); off > profile.Agreed {
		notes = append(notes, say("Samples and clocks differ by up to %s; on %s the client has %s ns by samples and %s by its clock, the server %s and %s. "+
			"A CPU that sleeps between packets misses samples, and some kernels charge no thread for softirqs.",
			prose.Percent(off), d.Network, prose.Fixed(d.Sampled.Client, 0), prose.Fixed(d.Clocked.Client, 0), prose.Fixed(d.Sampled.Server, 0), prose.Fixed(d.Clocked.Server, 0)))
	}
	if s := d.Scale; s != (profile.End{Client: 1, Server: 1}) {
		notes = append(notes, say("Where samples are missing, the layers of an end are scaled so that they add up to its clock: on %s, a sample of the client counts %s times, one of the server %s times. The shares of an end rest on the samples that it has.",
			d.Network, prose.Fixed(s.Client, 2), prose.Fixed(s.Server, 2)))
	}
	return doc.Section{ID: id, Title: say("%s: extra ns per %s by layer, %s over %s", title, word(d.Unit), d.Network, d.Baseline),
		Figures: []doc.Figure{flame(d, id)}, Tables: []doc.Table{t}, Notes: notes, Data: d}
}

// flame draws the calls of a network, colored by what their layer adds over the baseline.
func flame(d profile.Difference, id string) doc.Figure {
	rows := map[string]profile.Row{}
	for _, r := range d.Rows {
		rows[r.Layer] = r
	}
	return doc.Figure{ID: id + " flame", Caption: say("Who calls what on %s: %s ns per %s", d.Network, prose.Fixed(d.Sum.Here, 0), word(d.Unit)),
		Note: say("Width is CPU time per %s, and below a box is what it calls. A box is the calls within one layer, and begins with the function that it names. Its color is the share of the layer that %s adds to %s. The narrowest boxes are left out.", word(d.Unit), d.Network, d.Baseline),
		Chart: chart.Flame{Frames: flameFrames(d, rows, d.Tree), Less: say("less than on %s", d.Baseline), More: say("only on %s", d.Network),
			Alt: say("Flame graph of the CPU time per %s on %s, in the colors of the difference from %s. The table below has the layers.", word(d.Unit), d.Network, d.Baseline)}}
}

func flameFrames(d profile.Difference, rows map[string]profile.Row, frames []profile.Frame) (all []chart.Frame) {
	for _, f := range frames {
		r := rows[f.Layer] // zero for one that counts as other
		x := chart.Frame{Label: word(f.Layer), Long: word(f.Layer) + ": " + f.Function, Value: f.Time,
			Title: say("%s: %s, %s ns with what it calls. Layer: %s ns, on %s %s", word(f.Layer), f.Function, prose.Fixed(f.Time, 0), prose.Fixed(r.Here, 0), d.Baseline, prose.Fixed(r.Base, 0))}
		if f.Layer == profile.OwnCode { // a process, with all that it calls
			r = d.Sum
			x.Label, x.Long = f.Function, f.Function
			x.Title = fmt.Sprintf("%s: %s ns", f.Function, prose.Fixed(f.Time, 0))
		}
		if most := max(r.Here, r.Base); most > 0 {
			x.Shade = (r.Here - r.Base) / most
		}
		x.Calls = flameFrames(d, rows, f.Calls)
		all = append(all, x)
	}
	slices.SortStableFunc(all, func(a, b chart.Frame) int { return cmp.Compare(b.Value, a.Value) })
	return all
}
