// Package finding draws conclusions from an analyzed run: what limits a number, what spoils it, and
// what to do about it. A rule is a file and a line in Rules. Tables, reports and explanations all
// use the findings of one Check, which keeps every diagnosis in one place.
//
// It must not compute a statistic (package analysis did) or print.
package finding

import (
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Finding is a conclusion with its evidence.
type Finding struct {
	Rule     string          `json:"rule"` // its ID
	Severity Severity        `json:"severity"`
	Cells    []analysis.Cell `json:"cells,omitempty"` // empty: the whole run
	Text     lang.Text       `json:"text"`
	Evidence []lang.Text     `json:"evidence,omitempty"`
	Remedy   lang.Text       `json:"remedy,omitempty"`
	// Number is what the finding rests on, with its interval; nil for findings that only describe the run.
	Number *Number `json:"number,omitempty"`
	Place  string  `json:"place,omitempty"` // where the cause is: NODE, or NODE DEVICE
	Test   *Test   `json:"test,omitempty"`  // the run that would refute it; nil if no run can
	// Untestable says why no run can refute the finding, for one about a cause.
	Untestable lang.Text `json:"untestable,omitempty"`

	// Subject is what the text is about, if findings of the rule at one place can be about different things: they are
	// never one statement.
	Subject lang.Text `json:"-"`
	// Role is the subject wherever it is: the engine's client is the same limit in a pod as on the host.
	Role lang.Text `json:"-"`
	// Shared means that the baseline shows the same, to the same degree, under the same probe: it explains no
	// difference.
	Shared bool `json:"-"`

	certain  bool // it follows from no other finding
	contrast bool // it rests on a difference from the baseline alone, which another cause can have made
	way      way  // in which it holds; zero if the run measured one
}

// A Number is a measured quantity.
type Number struct {
	Name  lang.Text     `json:"name"` // what it counts
	Unit  string        `json:"unit"`
	Value stat.Interval `json:"value"` // over blocks
}

// A Test is a run that can refute a finding: it measures the cell as it was found and without the supposed
// cause, paired in blocks.
type Test struct {
	Text lang.Text `json:"text"` // "Refuted if …"
	// Fix removes the cause: steps after those of the network, options of the probe, levels of factors, or
	// another network in its place. One of them at least is set.
	Fix     []plan.Step       `json:"fix,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	Levels  map[string]string `json:"levels,omitempty"`
	Network string            `json:"network,omitempty"`
	// Metric is the value that the fix changes, and Factor the least change that the finding predicts, as
	// the ratio fixed ÷ found: above 1 for more, below 1 for less. The finding stands if the ratio's
	// interval lies beyond 1 on that side and the ratio is Factor or more than that, is refuted if it excludes Factor, and is open
	// otherwise. With AtMost, Factor is the most: the finding is refuted if the interval lies above it,
	// and stands if the ratio does not.
	Metric record.Quantity `json:"metric"`
	Factor float64         `json:"factor"`
	AtMost bool            `json:"atMost,omitempty"`
	// Whole means that the finding names the limit: at least half of the difference from the baseline must go.
	Whole bool `json:"whole,omitempty"`
}

func (f Finding) String() string { return f.Say().String() }

// Say returns the finding with its remedy.
func (f Finding) Say() lang.Text {
	if f.Remedy == "" {
		return f.Text
	}
	return f.Text + lang.T("; ") + f.Remedy
}

// Severity says how a finding affects the numbers.
type Severity string

const (
	Note    Severity = "note"    // the numbers stand; this helps to read them
	Warning Severity = "warning" // the numbers mean less than they seem to
	Serious Severity = "serious" // no number
)

// A Rule finds one kind of problem.
type Rule struct {
	ID    string // unique, stable, in lower case with dashes
	Title string
	Doc   string // how the rule decides, and why
	Check func(*analysis.Run) []Finding
	// lossy replaces Check in rules about what a row's trials lost: that takes long to find, so these rules share it.
	lossy func(*analysis.Table, *analysis.Row, losses) []Finding
}

// Rules lists all rules in the order in which their findings are shown.
func Rules() []Rule {
	return []Rule{emulated, cpusMoved, distance, unpaired, uncompared, fewBlocks, disturbed, notOK,
		sameCPU, cpuLimit, contention,
		queueDrop, backlogDrop, dropOnPath, smallMTUDrop, noFit, filteredAtInput, checksumErrors, socketBuffer, acceptQueue, unlocated, reordered, duplicates, congestionMarks,
		linkLimited, queueLimited, directions, checksumOff, noSegmentation, segmentationLost, fragmentation, learnedMTU, smallSegments,
		receiveWindow, sendBuffer, congestionWindow, spurious, slowResponses, serviceInPath, manyRules, bridgeNF, unlikePlan, unlikePeer,
		oneCPU, fullThread, toolLimited, cpuModes, cpuAccounting, mixedMetrics, damagedTimes, trialWarnings, outliers, residue}
}

// Check applies all rules, and leaves out the findings that follow from others.
func Check(run *analysis.Run) []Finding {
	var out []Finding
	lost := map[*analysis.Row]losses{}
	for _, rule := range Rules() {
		check := rule.Check
		if rule.lossy != nil {
			check = measured(func(t *analysis.Table, r *analysis.Row) []Finding {
				if _, known := lost[r]; !known {
					lost[r] = lossesOf(r)
				}
				return rule.lossy(t, r, lost[r])
			})
		}
		for _, f := range check(run) {
			f.Rule = rule.ID
			out = append(out, f)
		}
	}
	contrast(run, out)
	return explained(run, out)
}

// OfRun returns the findings about the whole run, without the residue (see ResidueOf).
func OfRun(all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.Cells != nil || f.Rule == residue.ID })
}

// ResidueOf returns the findings about differences that are not factors.
func ResidueOf(all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.Rule != residue.ID })
}

// ByCell returns the findings about cells by Cell.String.
func ByCell(all []Finding) map[string][]Finding {
	out := map[string][]Finding{}
	for _, f := range all {
		for _, c := range f.Cells {
			out[c.String()] = append(out[c.String()], f)
		}
	}
	return out
}

// rows turns a check of one row into a Check.
func rows(check func(*analysis.Table, *analysis.Row) []Finding) func(*analysis.Run) []Finding {
	return func(run *analysis.Run) (out []Finding) {
		for t, r := range run.Rows() {
			for _, f := range check(t, r) {
				f.Cells = []analysis.Cell{t.Cell(*r)}
				out = append(out, f)
			}
		}
		return out
	}
}

// few cuts a list; more says how many entries it cut.
func few(list []Finding, most int, more func(int) lang.Text) []Finding {
	if len(list) <= most {
		return list
	}
	rest := list[most-1]
	rest.Text = more(len(list) - most + 1)
	return append(list[:most-1:most-1], rest)
}
