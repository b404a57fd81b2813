package explain

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// A Book is an account of one cell: what was measured as a whole, and what its parts, measured by themselves, leave
// unexplained. Left is below 0 if the parts exceed the whole.
type Book struct {
	Of    string        `json:"of"` // packets, cpu or time
	Cell  analysis.Cell `json:"cell"`
	Whole float64       `json:"whole"` // in Unit: packets that were lost, CPUs in use, or a response time
	Left  float64       `json:"unexplained"`
	Unit  string        `json:"unit"`
	Text  lang.Text     `json:"text"`
}

// books returns the accounts of a network's cells.
func (r Premises) books(network string) (out []Book) {
	for _, c := range r.cells(network) {
		for _, of := range []func(cell) (Book, bool){r.packetBook, r.cpuBook, r.timeBook} {
			if b, ok := of(c); ok {
				b.Cell = c.table.Cell(*c.row)
				out = append(out, b)
			}
		}
	}
	return out
}

// packetBook says how many of the lost packets counters locate.
func (r Premises) packetBook(c cell) (Book, bool) {
	sent, lost, located := finding.Packets(c.row)
	if sent == 0 {
		return Book{}, false
	}
	left := lost - located
	if lost == 0 && left == 0 {
		return Book{Of: "packets", Unit: "packet", Text: lang.T("packets of %s: all %s that were sent arrived", r.name(c), prose.Thousands(sent))}, true
	}
	return Book{Of: "packets", Whole: lost, Left: left, Unit: "packet", Text: lang.T("packets of %s: of %s sent, %s were lost, %s of them at steps that counters show; %s",
		r.name(c), prose.Thousands(sent), prose.Thousands(lost), prose.Thousands(located), residue(left, lost, prose.Thousands))}, true
}

// residue says what the parts of a whole leave of it, or by how much they exceed it.
func residue(left, whole float64, format func(float64) string) lang.Text {
	if over := format(-left); left < 0 && over != format(0) {
		return lang.T("together they exceed %s by %s", format(whole), over)
	}
	return lang.T("%s of %s unexplained", format(max(0, left)), format(whole))
}

// If others use more than mostOutside of the used CPUs, these say nothing about a unit of work.
const mostOutside = 0.2

// cpuBook splits the CPUs in use among the sending and receiving threads, other threads that the run watched, and what
// the machines use besides. All are means over blocks, which add up; CPU time per unit of work is a Cost.
func (r Premises) cpuBook(c cell) (Book, bool) {
	used, measured := c.row.Get(record.CPUUsed)
	own, _ := c.row.Get(record.CPUOwn)
	if !measured || c.row.Own.Value.N == 0 {
		return Book{}, false
	}
	watched := 0.0
	for _, v := range c.row.Values {
		if v.Name == record.CPUThread && !(analysis.Thread{Program: v.About.Program}).Engine() {
			watched += v.Mean
		}
	}
	user, _ := c.row.Get(record.OthersUser)
	system, _ := c.row.Get(record.OthersSystem)
	idle, _ := c.row.Get(record.CPUUsedBaseline)
	outside := max(0, user.Mean+system.Mean, idle.Mean) // programs outside use CPUs while nothing is measured, too
	if outside > mostOutside*used.Mean {
		return Book{}, false
	}
	left := used.Mean - own.Mean - watched - outside
	cores := func(v float64) string { return prose.Fixed(v, 2) }
	return Book{Of: "cpu", Whole: used.Mean, Left: left, Unit: "core", Text: lang.T("CPUs in use (%s): %s; by sending and receiving threads %s, by threads of the network and the kernel %s, by what the machines do besides %s; %s",
		r.name(c), cores(used.Mean), cores(own.Mean), cores(watched), cores(outside), residue(left, used.Mean, cores))}, true
}

// timeBook splits a response time, by the kernel's timestamps, into the path, the wake-ups and the programs. All are
// medians.
func (r Premises) timeBook(c cell) (Book, bool) {
	split, ok := c.row.Split()
	whole, has := c.row.Get(record.RTTStamped)
	if !ok || !has {
		return Book{}, false
	}
	left := whole.Median - split.Path - split.Wake - split.App
	f := func(v float64) string { return unit.Format(v, "s") }
	return Book{Of: "time", Whole: whole.Median, Left: left, Unit: "s", Text: lang.T("response time (%s): path %s, wake-up %s, programs and sending %s; %s",
		r.name(c), f(split.Path), f(split.Wake), f(split.App), residue(left, whole.Median, f))}, true
}
