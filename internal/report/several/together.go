package several

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/section"
)

// A display is how one page shows several runs.
type display int

const (
	beforeAfter display = iota
	sideBySide
	overTime
)

// words names a display.
func (d display) words() string {
	return []string{say("before and after"), say("machines side by side"), say("series over time")}[d]
}

// A lane is one column of a page about several runs: a side, a machine, or a run.
type lane struct {
	name, about string
	runs        []int // of several.runs
}

// combined is several runs, in the order of time, on one page.
type combined struct {
	several
	facts []map[string][]byte
	view  display
	why   string // that view
	lanes []lane
}

// Together is the report of several groups of runs: a group is a run, or the runs of a series, that a user names by one
// directory. It shows runs of different machines side by side, two
// groups of one machine as before and after, and more as a series over time, and says why. It returns nil for
// groups that have no measured cell in common.
func Together(all [][]*account.Account) *doc.Document {
	t, of := inTime(all)
	if !t.shares(of) {
		return nil
	}
	t.arrange(len(all), of)
	d := Pooled(t.runs, t.p)
	d.Sections = nil
	d.Head = append([]doc.Fact{{Key: say("shown as"), Value: t.why}}, slices.DeleteFunc(d.Head, func(f doc.Fact) bool {
		return f.Key == say("how sure") && t.view != overTime // each view has its own intervals
	})...)
	d.Census = prose.Comma(t.over(len(t.runs)), t.view.words())
	for i := range d.Head {
		if d.Head[i].Key == say("measured") {
			d.Head[i].Value = t.over(len(t.runs))
		}
	}
	switch t.view {
	case beforeAfter:
		t.beforeAfter(d)
	case sideBySide:
		t.sideBySide(d)
	default:
		t.overTime(d)
	}
	d.Sections = append(d.Sections, section.DraftsOf(d.Title))
	d.Identify()
	return d
}

// inTime puts the runs of all groups in the order of time. of has the group of each.
func inTime(directories [][]*account.Account) (t combined, of []int) {
	type one struct {
		run   *account.Account
		group int
		begin time.Time
	}
	var all []one
	for g, group := range directories {
		for _, r := range group {
			begin, _ := r.Times()
			all = append(all, one{r, g, begin})
		}
	}
	slices.SortStableFunc(all, func(a, b one) int { return a.begin.Compare(b.begin) })
	var runs []*account.Account
	words := account.Words{}
	for _, x := range all {
		runs, of = append(runs, x.run), append(of, x.group)
		t.facts = append(t.facts, x.run.Conditions())
		maps.Copy(words, x.run.Words)
	}
	t.several = several{runs: runs, names: runNames(runs), p: analysis.Pool(account.Analyses(runs), 0), words: words}
	return t, of
}

// shares reports whether a cell, or a ratio that the studies state, counts in more than one group.
func (t combined) shares(of []int) bool {
	return slices.ContainsFunc(append(t.contrastCells(), t.p.Cells...), func(c analysis.PooledCell) bool {
		where := map[int]bool{}
		for i, x := range c.PerRun {
			if x.Missing == "" {
				where[of[i]] = true
			}
		}
		return len(where) > 1
	})
}

// arrange chooses the view and its lanes.
func (t *combined) arrange(directories int, of []int) {
	var machines doc.Groups[string, int] // runs by machine
	named := map[string]string{}
	for i, r := range t.runs {
		key, name := machineOf(r)
		machines.Add(key, i)
		named[key] = name
	}
	one := named[machines.Keys[0]]
	var all []string // names of machines
	switch {
	case len(machines.Keys) > 1:
		t.view = sideBySide
		for _, k := range machines.Keys {
			name := cmp.Or(named[k], say("unknown machine"))
			all = append(all, name)
			l := lane{name, "", machines.Of[k]}
			if len(l.runs) == 1 { // the name that the user gave to it
				l.name, l.about = t.names[l.runs[0]], name
			}
			t.lanes = append(t.lanes, l)
		}
		t.why = say("%s: the runs are of %s", t.view.words(), prose.Machines(all))
	case directories == 2:
		t.view = beforeAfter
		for g := range directories {
			var runs []int
			for i := range t.runs {
				if of[i] == g {
					runs = append(runs, i)
				}
			}
			t.lanes = append(t.lanes, lane{"", t.list(runs), runs})
		}
		slices.SortStableFunc(t.lanes, func(a, b lane) int { return cmp.Compare(a.runs[0], b.runs[0]) })
		t.lanes[0].name, t.lanes[1].name = say("before (A)"), say("after (B)")
		t.why = say("%s: %s and, later, %s, of %s", t.view.words(), t.lanes[0].about, t.lanes[1].about, cmp.Or(one, say("machines that they do not describe")))
	default:
		t.view = overTime
		for i := range t.runs {
			t.lanes = append(t.lanes, lane{t.names[i], section.Span(t.runs[i]), []int{i}})
		}
		t.why = say("%s: more than two runs of %s", t.view.words(), cmp.Or(one, say("machines that they do not describe")))
	}
	// Two machines of one name differ in what the name leaves out.
	for i, l := range t.lanes {
		if slices.Contains(heads(t.lanes[:i]), l.name) {
			t.lanes[i].name = fmt.Sprintf("%s (%d)", l.name, i+1)
		}
	}
}

func heads(ls []lane) (names []string) {
	for _, l := range ls {
		names = append(names, l.name)
	}
	return names
}

// list names runs.
func (t combined) list(runs []int) string {
	if len(runs) > 3 {
		return say("%s to %s (%s)", t.names[runs[0]], t.names[runs[len(runs)-1]], prose.Count(len(runs), "run"))
	}
	var names []string
	for _, i := range runs {
		names = append(names, t.names[i])
	}
	return prose.List(names)
}

// machineOf returns a key that is equal for runs of one machine, or of one set of machines, and their name. Both
// are what the facts say; weir records no names of machines that it was not told. The kernel and settings are
// not part of them: they change. Both are "" without facts.
func machineOf(r *account.Account) (key, name string) {
	var keys, names []string
	for _, host := range slices.SortedFunc(maps.Keys(r.Hosts), analysis.Natural) {
		var f facts.Facts
		if json.Unmarshal(r.Hosts[host], &f) != nil || f.CPU == "" && f.CPUs == 0 {
			continue
		}
		k, n := fmt.Sprint([]any{f.CPU, f.CPUs, f.Machine, f.Product, f.Guest}), processor(f)
		if len(r.Target.SSH) > 0 { // the user's names
			k, n = host+k, host
		}
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if keys == nil {
		return "", ""
	}
	name = prose.Machines(names)
	if r.Target.Kube != nil {
		keys = append(keys, r.Target.Kube.Context)
		name = say("%s of %s", strings.TrimSpace("cluster "+r.Target.Kube.Context), name)
	}
	slices.Sort(keys)
	return strings.Join(keys, "\n"), name
}

// noise is what the names of models have in common.
var noise = regexp.MustCompile(`\((R|TM|tm)\)| CPU\b| Processor\b|\b\d+th Gen\b|\b\d+-Core\b`)

// processor names a machine by its CPUs: "AMD EPYC 7763 (4 CPUs)".
func processor(f facts.Facts) string {
	model := strings.Join(strings.Fields(noise.ReplaceAllString(f.CPU, "")), " ")
	model = cmp.Or(model, say("machine"))
	if f.Guest != "" {
		return say("%s (%s in %s)", model, prose.Count(f.CPUs, "CPU"), f.Guest)
	}
	return say("%s (%s)", model, prose.Count(f.CPUs, "CPU"))
}
