package section

import (
	"cmp"
	"fmt"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

const (
	mostBusy  = 5    // threads per network
	leastBusy = 0.02 // share of a CPU of the least busy of them
)

var threadsAbout = say("A thread runs on one CPU at a time: one at 100 % cannot do more, however idle the others are. Its time includes the softirqs that ran on top of it. Of threads with one name in one place, the table has the busiest. In use counts all programs on the machine, as top(1) does.")

// threadSection has a part per probe and condition: the CPUs in use, and the busiest threads of each
// network.
func threadSection(s source) []doc.Section {
	x := doc.Section{ID: "threads", Title: say("Busiest threads"), About: threadsAbout, Flat: true, In: []doc.Medium{doc.Page, doc.Markdown}}
	var does doc.Groups[string, string] // what a thread's time goes to
	for _, t := range s.p.Tables {
		rows := busyThreads(t, s.cut.few)
		if rows == nil {
			continue
		}
		id := "threads " + t.Probe + " " + prose.Levels(t.Levels)
		part := doc.Section{ID: id, Probe: t.Probe, Title: s.Under(t.Probe, t.Levels), Label: s.Under(t.Probe, t.Levels), Fold: len(s.p.Tables) > manyTables}
		if use := inUse(t.Rows); use != nil {
			part.Tables = append(part.Tables, doc.Tabulate(id+" use", use...).Named(s.p.Baseline))
		}
		part.Tables = append(part.Tables, doc.Tabulate(id+" table", threadColumns(rows)...).Named(s.p.Baseline))
		for _, b := range rows {
			d := finding.Describe(b.Thread)
			if d.Does == "" && len(s.Words[t.Probe].Tools) > 0 {
				d.Does = lang.T("a program of the trial, and softirqs on top")
			}
			if d.Does != "" {
				does.Add(string(d.Name), string(d.Does))
			}
		}
		x.Parts = append(x.Parts, part)
	}
	for _, name := range does.Keys {
		x.Notes = append(x.Notes, say("%s: %s", name, does.Of[name][0]))
	}
	if x.Parts == nil {
		return nil
	}
	return []doc.Section{x}
}

// A busy thread is a row of the table.
type busy struct {
	network string
	analysis.Thread
}

// busyThreads returns the busiest threads of each network, or, of few, only the busiest one.
func busyThreads(t analysis.Table, few bool) (out []busy) {
	most := mostBusy
	if few {
		most = 1
	}
	for _, r := range t.Rows {
		for i, th := range r.Threads() {
			if i < most && th.Share.Center >= leastBusy {
				out = append(out, busy{r.Network, th})
			}
		}
	}
	return out
}

func threadColumns(rows []busy) []doc.Filled {
	text := func(head string, of func(busy) string) doc.Filled {
		return doc.Layout(doc.Column{Head: word(head), Left: true, Keep: 6}, rows, func(b busy) doc.Cell { return doc.Cell{Text: of(b)} })
	}
	return []doc.Filled{
		doc.Names("network", rows, func(b busy) string { return b.network }),
		text("thread", func(b busy) string { return string(finding.Describe(b.Thread).Name) }),
		text("in", func(b busy) string { return cmp.Or(b.Place, say("the machine")) }),
		doc.Layout(doc.Column{Head: say("of a CPU"), Base: "1", Kind: "value", Keep: 9}, rows, func(b busy) (c doc.Cell) {
			if b.Unresolved {
				return doc.Cell{Text: word(analysis.BelowSteps)}
			}
			c = doc.Cell{Text: fmt.Sprintf("%.0f %%", 100*b.Share.Center), Value: doc.Number(b.Share.Center)}
			c.Bounds(b.Share)
			return c
		}),
		doc.Layout(doc.Column{Head: say("interval"), Unit: "%", Base: "1", Kind: "interval", Keep: 5}, rows, func(b busy) doc.Cell {
			if b.Unresolved {
				return doc.Cell{}
			}
			return doc.IntervalCell(b.Share, 100, 0)
		}),
		text("", func(b busy) string {
			if b.Full {
				return say("full")
			}
			return ""
		}),
		text("name", func(b busy) string { return b.Name() }),
	}
}

// inUse returns the columns of the cores in use; nil if no trial recorded them.
func inUse(rows []analysis.Row) []doc.Filled {
	use := func(r analysis.Row) (i stat.Interval) {
		i, _, _ = r.InUse()
		return i
	}
	cores := doc.Numbers("CPUs in use", "core", 9, rows, func(r analysis.Row) (float64, bool) { return doc.Center(use(r)) })
	known := false
	for i, r := range rows {
		cores.Cells[i].Bounds(use(r))
		known = known || use(r).N > 0
	}
	if !known {
		return nil
	}
	return []doc.Filled{doc.Names("network", rows, func(r analysis.Row) string { return r.Network }), cores, doc.Intervals("core", rows, use),
		doc.Share("of all", 8, rows, func(r analysis.Row) (float64, bool) {
			i, cpus, ok := r.InUse()
			return i.Center / cpus, ok
		}),
		doc.Numbers("before the run", "core", 6, rows, middle(record.CPUUsedBaseline))}
}
