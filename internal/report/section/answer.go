package section

import (
	"cmp"
	"slices"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
)

// answerSection is what a reader sees first, and a terminal shows of a run: what the run says, the numbers, why, and what
// another run may change.
func answerSection(s source) []doc.Section {
	x := doc.Section{ID: "answer", Title: say("Answer"), Box: true}
	for _, text := range s.answer() {
		x.Lines = append(x.Lines, doc.Line{Text: text})
	}
	ways := s.ways()
	if f, ok := s.wayFigure("ways", ways[:min(mostWays, len(ways))]); ok {
		x.Figures = append(x.Figures, f)
	}
	if f, ok := s.overviewChart(); ok {
		x.Figures = append(x.Figures, f)
	}
	x.Tables = s.glance()
	if t, ok := s.overview(); ok {
		x.Tables = append(x.Tables, t)
	}
	x.Notes = prose.NonEmpty(s.because(), s.reach())
	return []doc.Section{x}
}

// plain reports whether the answer is about comparisons and networks alone, without steps, hops and tools before them.
func (s source) plain() bool { return len(s.Contrasts) > 0 || s.Question == custom || s.p.Unpaired }

// Answers are the sentences that answer a run's question.
func Answers(r *account.Account) []string {
	s := source{Account: r, p: r.Analysis}
	return s.answer()
}

// answer begins with what the study asks about: its own comparisons, in its order, the steps from UDP to TCP, hops or tools,
// and else what networks cost. A network that does not work comes before all of that. What could not run here comes last, because the
// rest answers without it.
func (s source) answer() (out []string) {
	stated, missing := s.sentences()
	failed, absent := s.without()
	missing = append(missing, absent...)
	networks, out := s.compared(), append(failed, s.downtime()...)
	switch {
	case len(s.Contrasts) > 0 && s.Contrasts[0].Baseline() != "": // the study asks about networks first
		out = slices.Concat(out, networks, stated, s.overHops())
	case s.plain():
		out = slices.Concat(out, stated, networks, s.overHops())
	default:
		out = slices.Concat(out, s.steps(s.p.Gaps()), s.overHops(), s.toolsAgree(), networks)
	}
	for i := len(out) - 1; i > 0; i-- {
		if slices.Contains(out[:i], out[i]) { // too few blocks, of both kinds of comparisons
			out = slices.Delete(out, i, i+1)
		}
	}
	for _, l := range s.standingLines(false) {
		out = append(out, l.Text)
	}
	if out = append(out, missing...); len(s.p.Networks) == 1 && len(s.p.Contrasts) == 0 && len(out) == 0 {
		out = append(out, s.alone()...)
	}
	if len(out) == 0 {
		out = append(out, say("Nothing was compared."))
	}
	return out
}

// compared tells the ratios of all networks to the baseline.
func (s source) compared() []string {
	if s.p.Baseline == "" {
		return nil
	}
	return Tell(s.effects(), s.p.Baseline, s.few(), s.Noun)
}

// effects are the ratios of the run's tables. Of a probe under several conditions, a network has the smallest and the largest
// of those that show a difference.
func (s source) effects() (out []Effect) {
	for _, n := range s.p.Networks {
		if n == s.p.Baseline {
			continue
		}
		for _, tables := range byProbe(s.p.Tables) {
			var shown []Effect
			for _, t := range tables {
				r, _ := t.Row(n)
				if r.Ratio.N == 0 {
					continue
				}
				e := s.effect(t, r)
				if len(tables) > 1 {
					e.At = prose.Comma(prose.Levels(t.Levels), e.At)
				}
				if e.shown() {
					shown = append(shown, e)
				} else {
					out = append(out, e)
				}
			}
			out = append(out, ends(shown)...)
		}
	}
	return out
}

// ends leaves the smallest and the largest ratio of several conditions.
func ends(all []Effect) []Effect {
	if len(all) <= 2 {
		return all
	}
	order := func(a, b Effect) int { return cmp.Compare(a.Ratio.Center, b.Ratio.Center) }
	lo, hi := slices.MinFunc(all, order), slices.MaxFunc(all, order)
	return []Effect{lo, hi}
}

func (s source) effect(t analysis.Table, r analysis.Row) Effect {
	e := Effect{Network: r.Network, Of: Value(s.Words, t.Probe, t.Metric), Metric: t.Metric, Unit: t.Unit, Ratio: r.Ratio, Detectable: r.Detectable}
	if r.Ratio.Bounded() && t.Unit == "s" {
		e.Difference = r.Difference()
	}
	if r.Stalled != nil {
		e.At = stalledIn(r.Stalled)
	}
	return e
}

// few says why no ratio has an interval.
func (s source) few() string {
	if s.p.Unpaired {
		return say("There are too few results to tell.")
	}
	blocks, why := 0, ""
	for _, i := range s.ratios() {
		blocks, why = max(blocks, i.N), cmp.Or(why, string(i.Reason()))
	}
	if least := stat.MinPairs(s.p.Each); blocks < least {
		return say("Too few blocks to tell: %d of at least %d (--blocks %[2]d). The numbers below have no interval: another run can give others.", blocks, least)
	}
	return prose.Sentences(say("No comparison has an interval."), why)
}

// ratios are all that the run compares.
func (s source) ratios() (out []stat.Interval) {
	for _, r := range s.p.Rows() {
		if r.Ratio.N > 0 {
			out = append(out, r.Ratio)
		}
	}
	for _, c := range s.p.Contrasts {
		for _, r := range c.Rows {
			if r.Ratio.N > 0 {
				out = append(out, r.Ratio)
			}
		}
	}
	return out
}

// reach says how sure the answer is, and what another run or machine may change.
func (s source) reach() string {
	if s.p.Unpaired {
		return say("The results are imported: weir did not measure them, and nothing proves which path the packets took.")
	}
	if !slices.ContainsFunc(s.p.Tables, func(t analysis.Table) bool {
		return slices.ContainsFunc(t.Rows, func(r analysis.Row) bool { return r.Counted() > 0 })
	}) {
		return ""
	}
	text := ""
	bounded := slices.ContainsFunc(s.ratios(), stat.Interval.Bounded)
	switch n := s.p.Comparisons; {
	case !bounded || n == 0:
	case n == 1:
		text = say("The interval [ ] has %s %% confidence.", prose.Trim(100*s.p.Confidence))
	default:
		text = say("All %d intervals [ ] hold with %s %% confidence.", n, prose.Trim(100*s.p.Confidence))
	}
	if !s.plain() && slices.ContainsFunc(s.p.Gaps(), func(g analysis.Gap) bool { return g.Total.Bounded() }) {
		text = prose.Sentences(text, say("Those of each network's steps from UDP to TCP do so by themselves."))
	}
	if slices.ContainsFunc(s.glancedRows(), glanced.contradicted) {
		text = prose.Sentences(text, say("A ratio compares trials of the same block, so it can differ from the medians beside it where values vary between blocks."))
	}
	if other := s.otherRun(); other != "" {
		return prose.Sentences(text, other, say("Another machine differs more, and no NIC was part of this."))
	}
	if s.Target.Exists() {
		return prose.Sentences(text, say("Another run can differ: what else used the machines and links counts too."))
	}
	return prose.Sentences(text, say("Another run can differ; another machine will, and no NIC was part of this."))
}

// otherRun says what earlier runs make likely of another one, about the largest effect of which they say something;
// without any, what another one would show if runs differ as they usually do.
func (s source) otherRun() string {
	var far, usual Effect
	for t, r := range s.p.Rows() {
		e := s.effect(*t, *r)
		if e.shown() && !e.Ratio.Open() && e.Ratio.Lo > 0 && (usual.Network == "" || e.size() > usual.size()) {
			usual = e
		}
		if r.OtherRuns == nil || !r.OtherRuns.Interval.Bounded() {
			continue
		}
		if e.shown() && (far.Network == "" || e.size() > far.size()) {
			far = e
			far.Ratio, far.Difference = r.OtherRuns.Interval, stat.Interval{}
		}
	}
	switch {
	case s.Target.Exists() || far.Network == "" && usual.Network == "":
		return ""
	case far.Network == "":
		usual.Ratio, usual.Difference = s.p.Likely(usual.Ratio), stat.Interval{}
		if !usual.shown() {
			return say("If runs differ by the usual %.0f %%, %s of %s is not shown to differ over others.", 100*stat.UsualTau, usual.Of, s.Noun(usual.Network))
		}
		return say("If runs differ by the usual %.0f %%, %s %s over others.", 100*stat.UsualTau, s.Noun(usual.Network), predicate([]Effect{usual}, 1))
	case !far.shown():
		return say("Over other runs on this machine, %s of %s is not shown to differ.", far.Of, s.Noun(far.Network))
	}
	return say("Over other runs on this machine, %s %s.", s.Noun(far.Network), predicate([]Effect{far}, 1))
}

// lead is the one warning that could change the answer, with its remedy; "" without one. The page has the others.
func (s source) lead() string {
	for _, f := range s.Findings() {
		if f.Rule == finding.CPULimit {
			return say("A CPU limit stopped an end in %s of its periods: remove it.", prose.PercentWithin(f.Number.Value))
		}
	}
	if s.p.Busy != nil || s.p.Kept && s.p.Disturbed > 0 {
		if s.p.Disturbed == s.p.Trials() {
			return say("Busy machine: all %d trials disturbed; repeat when it is idle.", s.p.Disturbed)
		}
		return say("Busy machine: %d of %d trials disturbed, all count; repeat when it is idle.", s.p.Disturbed, s.p.Trials())
	}
	for _, f := range finding.OfRun(s.Findings()) {
		if f.Severity != finding.Note && slices.Contains([]string{"emulated", "uncompared"}, f.Rule) {
			return string(f.Say())
		}
	}
	if len(s.Problems) > 0 && len(s.Results) < s.Planned {
		return string(s.Problems[len(s.Problems)-1])
	}
	return ""
}

func byProbe(tables []analysis.Table) (out [][]analysis.Table) {
	var probes doc.Groups[string, analysis.Table]
	for _, t := range tables {
		probes.Add(t.Probe, t)
	}
	for _, p := range probes.Keys {
		out = append(out, probes.Of[p])
	}
	return out
}

func sentence(parts []string) string {
	if parts == nil {
		return ""
	}
	return say("%s.", prose.List(parts))
}
