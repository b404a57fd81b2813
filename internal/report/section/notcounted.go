package section

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/record"
)

// notCountedSection groups the trials that are not ok by network, status and reason, in run order.
func notCountedSection(s source) []doc.Section {
	type group struct {
		network, reason string
		status          record.Status
	}
	var rs []*record.Result
	for i := range s.Results {
		if s.Results[i].Status != record.OK {
			rs = append(rs, &s.Results[i])
		}
	}
	slices.SortStableFunc(rs, func(a, b *record.Result) int {
		return cmp.Or(a.Block-b.Block, strings.Compare(a.Trial, b.Trial))
	})
	var trials doc.Groups[group, string]
	for _, x := range rs {
		trials.Add(group{x.Config[analysis.Network], x.Reason, x.Status}, x.Trial)
	}
	order := trials.Keys
	if order == nil {
		return nil
	}
	x := doc.Section{ID: "not-counted", Title: say("Disturbed, failed and skipped trials"), Fold: true, In: []doc.Medium{doc.Page}}
	if n := len(order); len(s.Results) > manyTrials && n > mostGroups {
		order = order[:mostGroups]
		x.Notes = []string{say("The first %d of %d reasons; %s.", mostGroups, n, inCSV)}
	}
	each := len(rs)
	if each > mostNamed {
		each = max(5, mostNamed/len(order))
	}
	t := doc.Table{ID: "not-counted-table", Prose: true, Columns: []doc.Column{{Head: say("trials")}, {Head: say("status")}, {Head: say("reason")}}}
	for _, g := range order {
		names := trials.Of[g]
		first := doc.Cell{Text: names[0]}
		if n := len(names); n > 1 {
			first = doc.Cell{Text: say("%d of %s", n, g.network), More: names, Value: doc.Number(float64(n))}
			if n > each {
				first.More = append(slices.Clone(names[:each]), say("and %d more: %s", n-each, inCSV))
			}
		}
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{first, {Text: word(string(g.status)), Bad: true}, {Text: word(g.reason)}}})
	}
	x.Tables = []doc.Table{t}
	return []doc.Section{x}
}

// longestReason is the longest reason of a failed trial in the answer, in characters: programs print what they like.
const longestReason = 100

// without names the networks that have no result at all, and those that lack one under some probe, with the most frequent
// reason: apart those whose trials failed or were invalid, and those that this machine or the network cannot run.
func (s source) without() (failed, absent []string) {
	type lack struct { // probe is "": of all
		probe, reason string
		failed        bool
	}
	type place struct {
		networks, reason string
		failed           bool
	}
	var by doc.Groups[lack, string]
	var probes doc.Groups[place, string]
	failed = s.eventsFailed()
	for _, n := range s.p.Networks {
		tables, empty := 0, []analysis.Table{}
		var points []analysis.Point
		for _, t := range s.p.Tables {
			r, ok := t.Row(n)
			if !ok || len(r.Points) == 0 {
				continue
			}
			if eventFailed(t, r) != "" {
				continue
			}
			if tables++; r.Counted() == 0 {
				empty, points = append(empty, t), append(points, r.Points...)
			}
		}
		switch {
		case len(empty) == 0:
		case len(empty) == tables:
			by.Add(lack{"", short(often(points)), fails(points)}, n)
		default:
			for _, t := range empty {
				r, _ := t.Row(n)
				of := prose.Comma(Value(s.Words, t.Probe, t.Metric), prose.Levels(t.Levels))
				by.Add(lack{of, short(often(r.Points)), fails(r.Points)}, n)
			}
		}
	}
	add := func(text, reason string, broken bool) {
		if text = because(text, reason); broken {
			failed = append(failed, text)
		} else {
			absent = append(absent, text)
		}
	}
	for _, k := range by.Keys {
		if k.probe != "" {
			probes.Add(place{prose.And(by.Of[k]), k.reason, k.failed}, k.probe)
			continue
		}
		add(say("%s: no result", prose.And(by.Of[k])), k.reason, k.failed)
	}
	for _, k := range probes.Keys {
		all := probes.Of[k]
		if n := len(all); n > mostTold {
			all = append(all[:mostTold-1:mostTold-1], say("%d more", n-mostTold+1))
		}
		add(say("%s: no %s", k.networks, prose.And(all)), k.reason, k.failed)
	}
	return failed, absent
}

// fails reports whether a trial began and has no value.
func fails(all []analysis.Point) bool {
	return slices.ContainsFunc(all, func(p analysis.Point) bool { return p.Status == record.Failed || p.Status == record.Invalid })
}

// because adds a reason to a sentence, and ends it.
func because(text, reason string) string {
	if reason != "" {
		text = say("%s (%s)", text, word(reason))
	}
	return say("%s.", text)
}

// often returns the most frequent reason.
func often(points []analysis.Point) (reason string) {
	all := map[string]int{}
	for _, p := range points {
		all[p.Reason]++
	}
	for r, n := range all {
		if m := all[reason]; r != "" && (reason == "" || n > m || n == m && r < reason) {
			reason = r
		}
	}
	return reason
}

// short is a reason for the answer. It leaves out which step of a plan failed: networks of one kind fail alike at different steps.
func short(reason string) string {
	return step.ReplaceAllString(prose.Reason(reason, longestReason), "")
}

// longestEvent is longestReason for an event: what its steps change is part of why they failed.
const longestEvent = 2 * longestReason

// eventsFailed names the networks that have no result because an event failed, or strayed.
func (s source) eventsFailed() (out []string) {
	var events doc.Groups[string, string]
	for _, n := range s.p.Networks {
		for _, t := range s.p.Tables {
			r, _ := t.Row(n)
			if text := eventFailed(t, r); text != "" {
				events.Add(text, n)
			}
		}
	}
	for _, text := range events.Keys {
		out = append(out, say("%s: no result: %s.", prose.And(events.Of[text]), text))
	}
	return out
}

// eventFailed says why a row has no result, if its reason is the event itself; else "".
func eventFailed(t analysis.Table, r analysis.Row) string {
	event, reason := cmp.Or(t.Levels[analysis.Event], t.Config[analysis.Event]), often(r.Points)
	if r.Counted() > 0 {
		return ""
	}
	if strings.HasSuffix(reason, "(traffic: "+plan.Moves+")") {
		return say("the event %s led traffic over other devices; if it is meant to, say so in the study (traffic: moves)", event)
	}
	why, ok := strings.CutPrefix(reason, "event "+event+": ")
	if !ok {
		return ""
	}
	why, _, _ = strings.Cut(why, "; undo: ") // what was not done cannot be undone
	return say("the event %s failed: %s", event, word(prose.Reason(step.ReplaceAllString(why, ""), longestEvent)))
}

var step = regexp.MustCompile(`^step \d+ of \d+, `)
