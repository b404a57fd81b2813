// Package several makes documents about several runs: pooled ones, comparisons, machines side by side, series over
// time, and the index of a directory.
//
// It must not read a run or compute a statistic (packages account and analysis did).
package several

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// several is what the sections of a pooled report are made from.
type several struct {
	runs  []*account.Account
	names []string // of the runs, short and different
	p     *analysis.Pooled
	words account.Words // the descriptions of all probes
}

// Pooled is the report of several analyzed runs; p pools their analyses in the same order.
func Pooled(runs []*account.Account, p *analysis.Pooled) *doc.Document {
	s := several{runs: runs, p: p, names: runNames(runs), words: account.Words{}}
	d := &doc.Document{Title: say("weir"), Baseline: p.Baseline, Networks: p.Networks, Analysis: p}
	trials := 0
	for i, r := range runs {
		if i == 0 {
			d.Title, d.Question, d.Where = cmp.Or(r.Name, d.Title), section.Question(r), section.Where(r)
		}
		trials += len(r.Results)
		for name, w := range r.Words {
			s.words[name] = w
		}
		for _, problem := range r.Problems {
			d.Warnings = append(d.Warnings, say("%s: %s", s.names[i], problem))
		}
	}
	d.Census = say("%s pooled, %s", s.over(p.Runs), prose.Count(trials, "trial"))
	d.Head = s.head(d.Census)
	answer := s.answer()
	for _, l := range answer.Lines {
		d.Answer = append(d.Answer, l.Text)
	}
	d.Sections = append(d.Sections, answer, s.ratios(), s.budget(), s.perRun())
	if goals, ok := section.Goals(runs, s.words); ok {
		d.Sections = append(d.Sections, goals)
	}
	d.Sections = append(d.Sections, section.DraftsOf(d.Title), s.conditions(), s.datapath(), s.method())
	d.Identify()
	return d
}

// runNames returns the last part of each directory, or the whole where those are equal.
func runNames(runs []*account.Account) []string {
	var names []string
	taken := map[string]int{}
	for i, r := range runs {
		names = append(names, cmp.Or(filepath.Base(filepath.Clean(r.Dir)), fmt.Sprint(i+1)))
		taken[names[i]]++
	}
	for i, r := range runs {
		if taken[names[i]] > 1 {
			names[i] = r.Dir
		}
	}
	return names
}

// over says how many runs there are, and how long they took from the first to the last.
func (s several) over(n int) string {
	var first, last time.Time
	for _, r := range s.runs {
		from, to := r.Times()
		if !from.IsZero() && (first.IsZero() || from.Before(first)) {
			first = from
		}
		if to.After(last) {
			last = to
		}
	}
	if first.IsZero() {
		return prose.Count(n, "run")
	}
	return say("%s over %s", prose.Count(n, "run"), roughly(last.Sub(first)))
}

// roughly prints a duration in its largest fitting unit: "40 min".
func roughly(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	return say("%.0f days", d.Hours()/24)
}

// fewRuns is the number of runs beyond which the quantile of t falls slowly: at 99.5 % it is 127, 14
// and 7.5 for two to four runs, and 5.6 for five.
const fewRuns = 5

// answer tells what the runs together say, as the report of one run does.
func (s several) answer() doc.Section {
	x := doc.Section{ID: "answer", Title: say("Answer"), Box: true}
	steps := s.steps()
	lines := slices.Concat(steps, s.contrastLines(), section.Tell(s.effects(), s.p.Baseline, say("Too few runs to tell: %d, and each ratio pooled over them has no interval.", s.p.Runs), s.noun))
	for _, text := range lines {
		x.Lines = append(x.Lines, doc.Line{Text: text})
	}
	switch {
	case x.Lines == nil:
		x.Lines = []doc.Line{{Text: say("Nothing was compared: the runs share no ratio to a baseline.")}}
	case s.p.Runs == 1:
		x.Notes = append(x.Notes, say("One run cannot show how much runs differ, so a pooled ratio has no interval. Repeat the run."))
	case s.p.Runs < fewRuns:
		x.Notes = append(x.Notes, say("How much runs differ is hardly known from %d of them, so these intervals are wide; %d or more narrow them.", s.p.Runs, fewRuns))
	default:
		x.Notes = append(x.Notes, say("The intervals [ ] cover differences between runs on this machine (%s), not other machines.", s.over(s.p.Runs)))
	}
	if steps != nil && x.Notes != nil {
		x.Notes = append(x.Notes, say("The intervals of each network's steps from UDP to TCP hold together with %s %% confidence, apart from all others.", prose.Trim(100*s.p.Confidence)))
	}
	least := s.p.Runs
	for _, c := range s.p.Cells {
		if c.Ratio.N > 0 {
			least = min(least, c.Ratio.N)
		}
	}
	if least < s.p.Runs && x.Notes != nil {
		x.Notes[0] = prose.Sentences(x.Notes[0], say("Some ratios rest on only %d of them.", least))
	}
	return x
}

// steps are those from UDP to TCP, where the study asks for them.
func (s several) steps() []string {
	if len(s.runs) == 0 {
		return nil
	}
	return section.StepsOf(s.runs[0], analysis.PoolGaps(account.Analyses(s.runs), s.p.Confidence))
}

// datapath says what the runs measured.
func (s several) datapath() doc.Section {
	x := doc.Section{ID: "datapath", Title: say("What was measured"), In: doc.Full}
	if len(s.runs) > 0 {
		x.Notes = section.Datapath(s.runs[0])
	}
	return x
}

// noun names a network as the first run does.
func (s several) noun(network string) string {
	if len(s.runs) == 0 {
		return network
	}
	return s.runs[0].Noun(network)
}

// effects are the pooled ratios to the baseline.
func (s several) effects() (out []section.Effect) {
	for _, n := range s.p.Networks {
		for _, c := range s.p.Cells {
			if c.Network == n && c.Ratio.N > 0 {
				e := section.Effect{Network: n, Of: section.Value(s.words, c.Probe, c.Metric), At: prose.Levels(c.Levels), Metric: c.Metric, Unit: c.Unit, Ratio: c.Ratio.Interval}
				out = append(out, e)
			}
		}
	}
	return out
}

// compared returns the cells with a ratio, or with a reason why they have none although the runs do, those of
// the stated comparisons first, or all cells if there is none.
func (s several) compared() (out []analysis.PooledCell) {
	for _, c := range append(s.contrastCells(), s.p.Cells...) {
		if c.Ratio.N > 0 || c.Ratio.Reason() != "" {
			out = append(out, c)
		}
	}
	if out == nil {
		return s.p.Cells
	}
	return out
}

// name names a cell: its network, then the probe, the levels that vary, and those compared.
func (s several) name(c analysis.PooledCell) string {
	return prose.Comma(c.Network, prose.Comma(prose.Comma(s.words.Short(c.Probe), prose.Levels(c.Levels)), c.Compared))
}

func (s several) cells(of []analysis.PooledCell) doc.Filled {
	x := doc.Names("cell", of, s.name)
	x.Whole = true
	return x
}

// ratios has the table of all pooled ratios and a forest chart per probe and condition.
func (s several) ratios() doc.Section {
	x := doc.Section{ID: "pooled", Title: say("Ratios over all runs"), Label: say("Ratios")}
	of := s.compared()
	if len(of) == 0 {
		x.About = say("The runs hold no results.")
		return x
	}
	x.Tables = []doc.Table{doc.Tabulate("pooled-ratios", s.ratioColumns(of)...)}
	for i, c := range of {
		x.Tables[0].Rows[i].Network = c.Network
	}
	x.Figures = s.forests(of)
	for _, c := range of {
		for _, w := range c.Ratio.Warnings {
			x.Notes = append(x.Notes, say("%s: %s", s.name(c), w))
		}
	}
	return x
}

func (s several) ratioColumns(of []analysis.PooledCell) []doc.Filled {
	get := func(f func(analysis.PooledCell) (string, float64)) func(analysis.PooledCell) doc.Cell {
		return func(c analysis.PooledCell) doc.Cell {
			text, v := f(c)
			if text == "" {
				return doc.Cell{}
			}
			return doc.Cell{Text: text, Value: doc.Number(v)}
		}
	}
	cs := append([]doc.Filled{s.cells(of)}, doc.Ratios(of, s.divisor(), func(c analysis.PooledCell) (stat.Interval, bool) {
		return c.Ratio.Interval, c.Verdict == analysis.NoDifference
	})...)
	return append(cs,
		doc.Layout(doc.Column{Head: say("over"), Left: true, Keep: 8}, of, func(c analysis.PooledCell) doc.Cell {
			if c.Ratio.N == 0 {
				return doc.Cell{}
			}
			return doc.Cell{Text: prose.Count(c.Ratio.N, "run"), Value: doc.Number(float64(c.Ratio.N))}
		}),
		doc.Layout(doc.Column{Head: say("verdict"), Left: true, Keep: 4}, of, func(c analysis.PooledCell) doc.Cell { return doc.Cell{Text: word(string(c.Verdict))} }),
		doc.Layout(doc.Column{Head: say("next run"), Base: "1", Keep: 7}, of, func(c analysis.PooledCell) doc.Cell {
			return doc.RatioIntervalCell(c.Ratio.Next)
		}),
		doc.Layout(doc.Column{Head: say("runs differ by"), Base: "1", Keep: 8}, of, get(func(c analysis.PooledCell) (string, float64) {
			if c.Ratio.N < 2 {
				return "", 0
			}
			if c.Ratio.Shown == 0 { // an estimate that cannot be negative, not a measurement of 0
				return say("at most %s", prose.Coarse(c.Ratio.Most)), c.Ratio.Most
			}
			return "±" + prose.Percent(c.Ratio.Shown), c.Ratio.Shown
		})),
		doc.Layout(doc.Column{Head: say("path %s", s.divisor()), Base: "1", Kind: "ratio", Keep: 3}, of, func(c analysis.PooledCell) doc.Cell {
			return doc.RatioCell(c.Path.Interval)
		}),
		doc.Layout(doc.Column{Head: say("interval"), Base: "1", Kind: "interval", Keep: 3}, of, func(c analysis.PooledCell) doc.Cell {
			return doc.RatioIntervalCell(c.Path.Interval)
		}),
		doc.Layout(doc.Column{Head: say("value"), Keep: 5}, of, get(func(c analysis.PooledCell) (string, float64) {
			if c.Value.N == 0 {
				return "", 0
			}
			return unit.Format(c.Value.Center, c.Unit), c.Value.Center
		})))
}

// budget lists the standard uncertainties of every pooled number.
func (s several) budget() doc.Section {
	x := doc.Section{ID: "budget", Title: say("Uncertainty budget"), In: doc.Full,
		About: say("Standard uncertainties relative to each ratio. Type A comes from repetition: the blocks within the runs, and the runs. " +
			"Type B comes from causes that repetition cannot show. Combined is the root of the sum of squares; the interval of a ratio is type A times the quantile of t.")}
	of := s.compared()
	share := func(head string, keep int, get func(analysis.Budget) float64) doc.Filled {
		return doc.Layout(doc.Column{Head: word(head), Base: "1", Keep: keep}, of, func(c analysis.PooledCell) doc.Cell {
			if c.Counted() == 0 {
				return doc.Cell{}
			}
			v := get(c.Budget)
			return doc.Cell{Text: prose.Percent(v), Value: doc.Number(v)}
		})
	}
	if len(of) > 0 {
		x.Tables = []doc.Table{doc.Tabulate("budget-table", s.cells(of),
			share("within runs", 8, func(b analysis.Budget) float64 { return b.Within }),
			share("between runs", 8, func(b analysis.Budget) float64 { return b.Between }),
			share("type B", 8, func(b analysis.Budget) float64 { return b.TypeB }),
			share("combined", 9, func(b analysis.Budget) float64 { return b.Combined }),
			doc.Layout(doc.Column{Head: say("source of type B"), Left: true, Keep: 2}, of, func(c analysis.PooledCell) doc.Cell { return doc.Cell{Text: word(c.Budget.Source)} }))}
	}
	return x
}

func (s several) method() doc.Section {
	return doc.Section{ID: "method", Title: say("Method"), In: doc.Full, Notes: []string{
		say("Each run divides every block by %s of the same block. A pooled ratio treats the logarithms of the runs' ratios as a random sample: differences between runs count as uncertainty.", s.divides()),
		say("The spread between runs is Paule and Mandel's estimate, moved toward what weir expects of runs (5 %%) and what the other ratios show; the interval is Hartung and Knapp's. All ratios hold together with %s %% confidence: each interval has %s %% (Bonferroni).", prose.Trim(100*s.p.Confidence), prose.Trim(100*s.p.Each)),
		say("Next run is the prediction interval of one more run of this kind, with 95 % confidence by itself; it needs four runs."),
		say("~ means that the interval contains 1: these runs show no difference. A value is the geometric mean of the medians of the runs."),
		say("Runs that follow each other at once can share a state of the machine. Runs spaced over hours cover more."),
	}}
}
