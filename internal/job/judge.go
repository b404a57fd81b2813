package job

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

// Reproduced is what results say about claims.
type Reproduced struct {
	Outcomes []claim.Outcome // in the order of the claims
	Results  []record.Result // all trials that tested them
	Dir      string          // of the results
	Failed   error           // says that trials are not ok. Skipped trials make claims untestable; Outcomes shows that
}

// Judge tests claims on existing results. A claim can have an outcome per run or series of runs. With asked, claims
// that no results test get an outcome, too.
func Judge(o ReproduceOptions, dirs []string, asked bool) (out Reproduced, _ error) {
	var outcomes []claim.Outcome
	for _, dir := range dirs {
		for _, one := range resultsIn(dir) {
			_, found, err := o.judge(one)
			if err != nil {
				return out, err
			}
			outcomes = append(outcomes, found...)
		}
	}
	if asked {
		outcomes = append(outcomes, untested(o.Claims, outcomes, lang.T("these results do not test it"))...)
	}
	return o.reproduced(outcomes, nil), nil
}

// reproduced sorts outcomes.
func (o ReproduceOptions) reproduced(outcomes []claim.Outcome, results []record.Result) Reproduced {
	slices.SortStableFunc(outcomes, func(a, b claim.Outcome) int {
		return cmp.Compare(claim.Index(o.Claims, a.Claim.ID), claim.Index(o.Claims, b.Claim.ID))
	})
	out := Reproduced{Outcomes: outcomes, Results: results, Dir: o.Dir}
	ran := slices.DeleteFunc(slices.Clone(results), func(x record.Result) bool { return x.Status == record.Skipped })
	if len(ran) > 0 {
		out.Failed = verdict(ran)
	}
	return out
}

// judge returns the trials of the run or the series in dir and the outcomes of the claims that they
// test.
func (o ReproduceOptions) judge(dir string) (all []record.Result, outcomes []claim.Outcome, _ error) {
	dirs, err := store.Runs(dir)
	if err != nil {
		return nil, nil, failure.Usage.Errorf("cannot read results from %w", err)
	}
	var runs []*analysis.Run
	for _, one := range dirs {
		a, err := loadTold(one, o.Keep, o.Tell)
		if err != nil {
			return nil, nil, err
		}
		runs, all = append(runs, a.Analysis), append(all, a.Results...)
	}
	s, err := StoredStudy(dirs[0])
	if err != nil {
		return nil, nil, err
	}
	outcomes = claim.JudgeRuns(o.Claims, s, runs)
	for i := range outcomes {
		outcomes[i].From = dir
	}
	return all, outcomes, nil
}

// resultsIn returns dir if it holds a run or a series, or else the directories below it that do, as in the directory of
// a reproduction.
func resultsIn(dir string) []string {
	if _, err := store.Runs(dir); err == nil {
		return []string{dir}
	}
	var below []string
	entries, _ := os.ReadDir(dir) // judge reports a directory without results
	for _, e := range entries {
		if one := filepath.Join(dir, e.Name()); e.IsDir() {
			if _, err := store.Runs(one); err == nil {
				below = append(below, one)
			}
		}
	}
	if below == nil {
		return []string{dir}
	}
	return below
}

// untested returns an outcome for each claim without one.
func untested(claims []claim.Claim, outcomes []claim.Outcome, why lang.Text) (more []claim.Outcome) {
	for _, c := range claims {
		if !slices.ContainsFunc(outcomes, func(o claim.Outcome) bool { return o.Claim.ID == c.ID }) {
			more = append(more, c.Cannot(why))
		}
	}
	return more
}
