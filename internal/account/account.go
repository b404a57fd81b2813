// Package account is everything that one run says, computed once: its analysis, findings, cost models and bounds, the
// explanation made of them, verdicts on published claims, traces and profiles, and the problems of reading it. Reports,
// explanations, exports, comparisons and pages about several runs read this one value, so no two of them can disagree.
//
// It must not word a sentence about a result (packages finding and explain do), lay anything out, or print.
package account

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/costmodel"
	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// Contents is what a results directory holds, parsed.
type Contents struct {
	analysis.Options
	Words
	Name     string // of the study
	Question string
	Study    []byte       // YAML, resolved
	Spec     study.Study  // the same, read
	Target   study.Target // where the networks are
	Results  []record.Result
	Planned  int                 // the fewest trials of a finished run; 0 if the study does not say
	Hosts    map[string][]byte   // facts of each host, JSON
	Command  []string            // that repeats the run
	Seed     string              // of the order of the trials
	Traces   []packettrace.Trace // paths of packets, by network
	Verdicts []explain.Verdict   // of runs that could refute findings
	Problems []lang.Text         // results that could not be read
	Dir      string
	// Profiled holds the profile trials, which Results does not, and Profiles their samples, by trial.
	Profiled []record.Result
	Profiles map[string]*profile.Profile
}

// An Account is a run with all that follows from its contents. Claims are published figures that its results test.
type Account struct {
	Contents
	Analysis *analysis.Run // of Results
	Claims   []claim.Outcome
	judged   func() judgement
}

// A judgement is what the analysis says about causes. Comparisons, exports and indexes of many runs do without it, and
// with evidence it takes a tenth of the time of reading, so it is made when somebody asks.
type judgement struct {
	findings []finding.Finding
	models   []costmodel.Model
	bounds   []costmodel.Bound
	hooks    []costmodel.Hook
	applied  []costmodel.Prediction
	why      explain.Explanation
}

// Of analyzes contents. The caller must not change them afterwards.
func Of(c Contents) *Account {
	a := &Account{Contents: c, Analysis: analysis.New(c.Results, c.Options)}
	a.judged = sync.OnceValue(a.judge)
	return a
}

// Analyses returns the analysis of each run.
func Analyses(runs []*Account) (out []*analysis.Run) {
	for _, r := range runs {
		out = append(out, r.Analysis)
	}
	return out
}

func (a *Account) judge() judgement {
	j := judgement{findings: finding.Check(a.Analysis), models: costmodel.Fit(a.Analysis), bounds: costmodel.WhatIf(a.Analysis), hooks: costmodel.Hooks(a.Analysis),
		applied: costmodel.Predict(a.Analysis, a.Words)}
	for _, t := range a.Traces {
		for _, d := range t.Drops { // a trace saw the kernel's reason for a loss
			finding.Because(j.findings, t.Network, d.Node, d.Dev, d.Reason, d.Packets)
		}
	}
	j.why = explain.New(explain.Premises{Run: a.Analysis, Findings: j.findings, Short: a.Words.Short, Verdicts: a.Verdicts,
		Models: j.models, Bounds: j.bounds, Hooks: j.hooks})
	return j
}

// Findings are the conclusions of all rules.
func (a *Account) Findings() []finding.Finding { return a.judged().findings }

// Models are the costs of a packet on the sender and the receiver of each network.
func (a *Account) Models() []costmodel.Model { return a.judged().models }

// Bounds say what removing a part of a path could gain at most.
func (a *Account) Bounds() []costmodel.Bound { return a.judged().bounds }

// Hooks are the costs of passing packets of bridges to netfilter.
func (a *Account) Hooks() []costmodel.Hook { return a.judged().hooks }

// Predictions are the times of applications' requests as the price of each path predicts them.
func (a *Account) Predictions() []costmodel.Prediction { return a.judged().applied }

// Why explains the networks.
func (a *Account) Why() explain.Explanation { return a.judged().why }

// Times returns when the first trial began and the last one ended; zero without a trial.
func (a *Account) Times() (first, last time.Time) {
	for _, x := range a.Results {
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
	return first, last
}

// Noun names a network in a sentence: "a VXLAN overlay". One that the study, or an import, gives a name of its own keeps it.
func (c Contents) Noun(network string) string {
	named := func(u study.Use) bool { return u.Name == network && u.Kind == network }
	if noun := catalog.Networks[network].Noun; noun != "" && !c.Unpaired && slices.ContainsFunc(c.Spec.Networks, named) {
		return string(lang.Stored(noun))
	}
	return network
}

// Words describe probes, by their names in the study.
type Words map[string]probe.Info

// Title names a probe in a heading.
func (w Words) Title(probe string) string {
	what, tool, by := strings.Cut(cmp.Or(w[probe].Title, probe), " (") // "TCP stream (iperf3)"
	if tool, whole := strings.CutSuffix(tool, ")"); by && whole {
		return string(lang.T("%s (%s)", lang.Stored(what), tool))
	}
	return string(lang.Stored(cmp.Or(w[probe].Title, probe)))
}

// Short names a probe in a sentence.
func (w Words) Short(probe string) string {
	what, tool, by := strings.Cut(cmp.Or(w[probe].Short, probe), " by ") // "TCP by iperf3"
	if by {
		return string(lang.T("%s by %[2]s", lang.Stored(what), tool))
	}
	return string(lang.Stored(what))
}

// Under names a probe with the levels of its factors: "UDP stream, size 1400".
func (w Words) Under(probe string, levels map[string]string) string {
	return prose.Comma(w.Title(probe), prose.Levels(levels))
}
