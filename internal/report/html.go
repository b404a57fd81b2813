package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
)

//go:embed page.html
var pageSource string

//go:embed page.css
var pageStyle string

var page = template.Must(template.New("page").Parse(pageSource + gapSource))

// A view is what the template prints. Nothing is computed in the template.
type view struct {
	Style              template.CSS
	Title, Question    string
	Census, Span       string
	Datapath           string
	Answers            []answerView
	Glance             glance
	Gap                *gapView
	Claims             *claimView
	Sections           []section
	Chains             []chain
	Beside             []beside
	Paths              []pathRow
	Hosts              []host
	Residue            []analysis.Difference
	NotOK              []leftOut
	Warnings           []string
	Footnote           []string
	Command, Seed, Dir string
	Study              string
	Networks           []legend
}

type legend struct {
	Name  string
	Color template.CSS
}

type answerView struct {
	legend
	Text string
}

// A section is one probe.
type section struct {
	ID, Title, About string
	Figures          []figure // of several tables
	Glance           glance   // of many tables, when there are no figures
	Tables           []tableView
}

type tableView struct {
	ID, Title string // Title is empty where the section's says it all
	Figures   []figure
	Columns   []column
	Rows      []rowView
	Notes     []string
	Trials    trialTable
	Fold      bool
}

// A claimView is the table of published figures; a line is the same cell of every column.
type claimView struct {
	Columns []column
	Notes   []string
}

type gapView struct {
	Title, About string
	Parts        []gapPart
}

type rowView struct {
	legend
	Baseline bool
	Cells    []cell
}

type cell struct{ Text, Class string }

// manyTables is how many tables of one probe are shown open.
const manyTables = 4

// HTML writes a page that needs nothing but itself: no script, no font, no
// picture from elsewhere.
func HTML(w io.Writer, r Run) error {
	return page.Execute(w, newView(r))
}

func newView(r Run) view {
	p := r.Pivot()
	paint := painter{p}
	v := view{
		Style: template.CSS(pageStyle), Title: r.title(), Question: r.Question,
		Census: r.census(p), Span: r.span(), Datapath: r.datapath(),
		Paths: paths(p), Hosts: hosts(r.Hosts), Residue: p.Residue, NotOK: r.notOK(),
		Warnings: append(p.Warnings, r.Problems...), Footnote: method(p),
		Command: shell(r.Command), Seed: r.Seed, Dir: r.Dir, Study: string(r.Study),
		Glance: newGlance(p, paint), Chains: chains(p), Beside: r.sideBySide(p),
	}
	for _, a := range answers(p, v.Glance.Rows != nil) {
		v.Answers = append(v.Answers, answerView{paint.legend(a.Network), a.Text})
	}
	if parts := paint.gapParts(); parts != nil {
		v.Gap = &gapView{gapTitle, gapAbout, parts}
	}
	if r.Claims != nil {
		v.Claims = &claimView{claimColumns(r.Claims), append(claimNotes(r.Claims), claimFootnote(r.Claims))}
	}
	tables := map[string][]analysis.Table{} // by title
	for _, t := range p.Tables {
		tables[probeTitle(t.Probe)] = append(tables[probeTitle(t.Probe)], t)
		tv := paint.table(t)
		last := len(v.Sections) - 1
		if last < 0 || v.Sections[last].Title != probeTitle(t.Probe) {
			v.Sections = append(v.Sections, section{ID: fmt.Sprintf("p%d", last+2), Title: probeTitle(t.Probe), About: about(t)})
			last++
		}
		tv.ID = fmt.Sprintf("t%d-%d", last+1, len(v.Sections[last].Tables)+1)
		v.Sections[last].Tables = append(v.Sections[last].Tables, tv)
	}
	for _, s := range p.Sweeps() {
		figures, err := paint.sweeps(s)
		if err != nil {
			v.Warnings = append(v.Warnings, fmt.Sprintf("%s by %s is not drawn: %v", probeTitle(s.Probe), s.Factor, err))
		}
		v.add(s.Probe, figures)
	}
	for _, m := range p.Matrices() {
		figures, err := paint.matrices(m)
		if err != nil {
			v.Warnings = append(v.Warnings, fmt.Sprintf("%s by direction is not drawn: %v", probeTitle(m.Probe), err))
		}
		v.add(m.Probe, figures)
	}
	for n := range v.Sections {
		s := &v.Sections[n]
		for i := range s.Tables {
			s.Tables[i].Fold = len(s.Tables) > manyTables || s.Figures != nil
		}
		if len(s.Tables) > manyTables && s.Figures == nil {
			s.Glance = levelGlance(tables[s.Title], p.Networks, paint)
		}
	}
	return v
}

// add puts figures in front of the tables of a probe.
func (v *view) add(probe string, figures []figure) {
	for i := range v.Sections {
		if v.Sections[i].Title == probeTitle(probe) {
			v.Sections[i].Figures = append(v.Sections[i].Figures, figures...)
		}
	}
}

func (p painter) legend(network string) legend {
	n := p.color(network)
	if n > 0 {
		n = (n-1)%8 + 1
	}
	return legend{network, template.CSS(fmt.Sprintf("var(--s%d)", n))}
}

func (p painter) table(t analysis.Table) tableView {
	figures, missing := p.figures(t)
	v := tableView{Title: levelText(t.Levels), Figures: figures, Columns: columns(t, p.p.Baseline), Notes: append(notes(p.p, t), missing...), Trials: trials(t)}
	cells := byRow(v.Columns)
	for i, r := range t.Rows {
		v.Rows = append(v.Rows, rowView{p.legend(r.Network), r.Baseline, cells[i][1:]})
	}
	return v
}

// byRow turns columns, which are equally long, into rows.
func byRow(columns []column) [][]cell {
	rows := make([][]cell, len(columns[0].Cells))
	for _, c := range columns {
		for i, text := range c.Cells {
			rows[i] = append(rows[i], cell{text, c.Class})
		}
	}
	return rows
}

// about says what a probe does and what its number is.
func about(t analysis.Table) string {
	s := probes[t.Probe].about
	if t.Metric == "" {
		return s
	}
	m := metricName(t.Metric)
	s = strings.TrimSpace(s + " " + strings.ToUpper(m[:1]) + m[1:] + ": " + better(t.Unit) + ".")
	if hasSplit(t) {
		s += " " + splitNote
	}
	if hasClients(t) {
		s += " " + clientsNote
	}
	return s
}

// shell quotes a command so that it can be pasted.
func shell(argv []string) string {
	var out []string
	for _, a := range argv {
		if a == "" || strings.ContainsAny(a, " \t\n\"'`$&|;<>(){}*?[]#~\\!") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out = append(out, a)
	}
	return strings.Join(out, " ")
}

// method says how the numbers came about.
func method(p analysed) []string {
	if len(p.Tables) == 0 {
		return nil
	}
	out := []string{
		"A trial is one measurement of one network. A block is one pass through all of them in random order. Blocks are the samples; what happens inside a trial is not.",
		"A value is the median over blocks. Its interval holds by itself, with 95 % confidence.",
	}
	if p.Pairs > 0 {
		out = append(out, pooled(p))
	}
	if p.Comparisons > 0 {
		out = append(out,
			fmt.Sprintf("A ratio divides a network by %s of the same block, so that what changes slowly on the machine hits both. What is printed is the Hodges-Lehmann estimate over all blocks with the exact interval of the Wilcoxon signed-rank test. It assumes that blocks are independent and that their log ratios lie evenly around their centre. Where neighbouring blocks are correlated, they are averaged first, and a note says so. It assumes no normal distribution.", divisor(p)),
			fmt.Sprintf("All %d ratios hold together with %s %% confidence: each interval is drawn at %s %% (Bonferroni).", p.Comparisons, trim(100*p.Confidence), trim(100*p.Each)),
			"~ means that the interval contains 1: this run shows no difference. It does not show that there is none.")
	}
	return append(out,
		"Percentiles come from the merged histograms of all ok trials; percentiles are never averaged. One is left out when fewer than ten responses lie beyond it.",
		"Invalid, failed and skipped trials are shown and not counted. A trial is disturbed when, together with its neighbours in time, programs outside the run used more than 0.3 of a core or the hypervisor took more than 0.1, or when the clock frequency was under 90 % of the usual one. Disturbed trials are shown and not counted either, and when they touch more than a third of the blocks there is no verdict.")
}

func trim(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }
