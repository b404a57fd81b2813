// Package report turns the results of a run into what people read: a page, a
// terminal table, Markdown, and CSV and JSON for other programs.
//
// It must not touch a file, a clock or the network, and never computes a
// statistic: package analysis did.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/record"
)

// A Run is what a results directory holds.
type Run struct {
	Name          string // of the study
	Question      string
	Study         []byte // YAML, resolved
	Results       []record.Result
	Hosts         map[string][]byte // facts of each host, JSON
	Baseline      string            // network that the others are divided by
	Networks      []string          // in the order of the study; may be empty
	Probes        []string          // likewise
	Command       []string          // that made the run
	Seed          string            // of the order of the trials
	KeepDisturbed bool              // the study counts disturbed trials
	Machines      int               // that took part; 0 and 1 are one machine
	Tools         map[string]Tool   // by probe
	Analysis      *analysis.Run     // of Results; nil is made when it is needed
	Claims        []claim.Outcome   // published figures that the results bear on
	Problems      []string          // what could not be read
	Dir           string
}

// A Tool is what is known of a probe before anything is measured.
type Tool struct {
	Measures string // groups the probes that should find the same; "" is none
	Differs  string // why its number may still be another one
}

// analysed is a run with what was found in it.
type analysed struct {
	*analysis.Run
	findings []finding.Finding
	about    map[string][]finding.Finding // by cell
	Warnings []string                     // about the whole run
}

// Pivot returns the tables of a run.
func (r Run) Pivot() analysed {
	p := analysed{Run: r.Analysis}
	if p.Run == nil {
		p.Run = analysis.New(r.Results, analysis.Options{Baseline: r.Baseline, Networks: r.Networks, Probes: r.Probes, KeepDisturbed: r.KeepDisturbed})
	}
	p.findings = finding.Check(p.Run)
	p.about = finding.ByCell(p.findings)
	for _, f := range finding.OfRun(p.findings) {
		p.Warnings = append(p.Warnings, f.String())
	}
	return p
}

// title is never empty.
func (r Run) title() string {
	if r.Name == "" {
		return "weir"
	}
	return r.Name
}

// datapath is the sentence that a run on one machine needs.
func (r Run) datapath() string {
	if r.Machines > 1 {
		return ""
	}
	s := "One machine is a datapath bench: both ends share its CPUs and there is no NIC. " +
		"These numbers are datapath cost, not network throughput."
	for _, x := range r.Results {
		if x.Observed["cost"] != "" {
			return s + " Several pairs of hosts were measured at once and shared them, too: absolute figures are of a shared machine, " +
				"not of what a pair has to itself, and whose CPU time it was is not known. With one-at-a-time every pair has the machine to itself."
		}
	}
	return s
}

// census says how many trials there are and what became of them.
func (r Run) census(p analysed) string {
	s := fmt.Sprintf("%s, %s", count(p.Blocks, "block"), count(len(r.Results), "trial"))
	var parts []string
	n := map[record.Status]int{}
	for _, t := range p.Tables {
		for _, row := range t.Rows {
			for _, point := range row.Points {
				n[point.Status]++
			}
		}
	}
	for _, status := range []record.Status{record.OK, record.Disturbed, record.Invalid, record.Failed, record.Skipped} {
		if n[status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[status], status))
		}
	}
	if len(parts) == 0 {
		return s
	}
	return s + ": " + strings.Join(parts, ", ")
}

// span says when the trials ran.
func (r Run) span() string {
	var first, last time.Time
	for _, x := range r.Results {
		if x.Start.IsZero() {
			continue
		}
		if first.IsZero() || x.Start.Before(first) {
			first = x.Start
		}
		if end := x.Start.Add(time.Duration(x.Elapsed * float64(time.Second))); end.After(last) {
			last = end
		}
	}
	if first.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s UTC, %s", first.UTC().Format("2006-01-02 15:04"), last.Sub(first).Round(time.Second))
}

// A leftOut is trials that were kept but not aggregated, all for one reason.
type leftOut struct {
	Network string
	Status  record.Status
	Reason  string
	Trials  []string
}

// notOK groups the trials that are left out, in the order in which they ran.
func (r Run) notOK() []leftOut {
	rs := slices.Clone(r.Results)
	slices.SortStableFunc(rs, func(a, b record.Result) int {
		return cmp.Or(a.Block-b.Block, strings.Compare(a.Trial, b.Trial))
	})
	var out []leftOut
	for _, x := range rs {
		if x.Status == record.OK {
			continue
		}
		same := func(l leftOut) bool {
			return l.Network == x.Config[analysis.Network] && l.Status == x.Status && l.Reason == x.Reason
		}
		i := slices.IndexFunc(out, same)
		if i < 0 {
			i = len(out)
			out = append(out, leftOut{Network: x.Config[analysis.Network], Status: x.Status, Reason: x.Reason})
		}
		out[i].Trials = append(out[i].Trials, x.Trial)
	}
	return out
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
