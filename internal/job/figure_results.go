package job

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
)

// Results finds runs below directories, and loads each at most once.
type Results struct {
	tell   lang.Teller
	dirs   []string
	runs   []storedRun // in the order of their directories
	keep   bool
	loaded map[string]*account.Account
	broken map[string]error
}

type storedRun struct {
	dir   string
	study study.Study
}

// depth is how far below a directory of results its runs are: DIR/claims/STUDY/001.
const depth = 4

// NewResults returns the runs below directories. Disturbed trials count with keep; tell hears which runs cannot be read.
func NewResults(dirs []string, keep bool, tell lang.Teller) *Results {
	r := &Results{tell: tell, dirs: dirs, keep: keep, loaded: map[string]*account.Account{}, broken: map[string]error{}}
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error { // a directory that cannot be read holds no run
			if err != nil || !e.IsDir() {
				return nil
			}
			if Started(path) {
				if s, err := StoredStudy(path); err == nil {
					r.runs = append(r.runs, storedRun{path, s})
				}
				return fs.SkipDir
			}
			if rel, _ := filepath.Rel(dir, path); strings.Count(rel, string(os.PathSeparator)) >= depth-1 {
				return fs.SkipDir
			}
			return nil
		})
	}
	return r
}

// Empty reports whether there is no run.
func (r *Results) Empty() bool { return len(r.runs) == 0 }

// Covers reports whether a run, finished or not, has everything that a figure needs.
func (r *Results) Covers(f figure.Figure) bool {
	return slices.ContainsFunc(r.of(f.Study.Name), func(one storedRun) bool { return covers(one.study, []figure.Figure{f}) })
}

// of returns the runs of a study.
func (r *Results) of(name string) (runs []storedRun) {
	for _, one := range r.runs {
		if one.study.Name == name {
			runs = append(runs, one)
		}
	}
	return runs
}

// Holds reports whether a finished run measured everything that a figure needs.
func (r *Results) Holds(f figure.Figure) bool {
	return slices.ContainsFunc(r.of(f.Study.Name), func(one storedRun) bool {
		_, err := os.Stat(filepath.Join(one.dir, "report.html"))
		return err == nil && covers(one.study, []figure.Figure{f})
	})
}

// covers reports whether a stored study has all cells that figures need, except networks and probes
// that this version lacked.
func covers(stored study.Study, fs []figure.Figure) bool {
	need := catalog.Available(figure.Needed(fs))
	for factor, levels := range need.Factors {
		for _, l := range levels {
			if !slices.Contains(stored.Factors[factor], l) {
				return false
			}
		}
	}
	has := func(of []study.Use) func(study.Use) bool {
		return func(u study.Use) bool {
			return slices.ContainsFunc(of, func(v study.Use) bool { return v.Name == u.Name })
		}
	}
	return !slices.ContainsFunc(need.Networks, func(u study.Use) bool { return !has(stored.Networks)(u) }) &&
		!slices.ContainsFunc(need.Probes, func(u study.Use) bool { return !has(stored.Probes)(u) })
}

func (r *Results) load(dir string) (*account.Account, error) {
	if rep, ok := r.loaded[dir]; ok {
		return rep, nil
	}
	if err := r.broken[dir]; err != nil {
		return nil, err
	}
	rep, err := LoadInside(dir, r.keep)
	if err != nil {
		r.broken[dir] = err
		r.tell.Warn(lang.Text(err.Error()))
		return rep, err
	}
	r.tell.Warn(rep.Problems...)
	r.loaded[dir] = rep
	return rep, nil
}

// Figure returns a figure with the values of the run that has most of it (the last of several equal ones), and with the
// verdicts of its claims in all runs.
func (r *Results) Figure(f figure.Figure) (figure.Result, error) {
	best := figure.Result{Figure: f}
	for _, one := range r.of(f.Study.Name) {
		rep, err := r.load(one.dir)
		if err != nil {
			continue
		}
		got, err := f.Of(rep.Analysis)
		if err != nil {
			got.Missing = []string{err.Error()}
		}
		if err == nil && got.Size() >= max(1, best.Size()) {
			best, best.From = got, one.dir
		} else if best.From == "" { // says why nothing was measured
			best.Missing = append(best.Missing, got.Missing...)
		}
	}
	if len(f.Claims) == 0 || len(r.runs) == 0 {
		return best, nil
	}
	shipped, err := claim.Shipped()
	if err != nil {
		return best, err
	}
	var rest []claim.Claim
	for _, id := range f.Claims {
		if c := shipped[claim.Index(shipped, id)]; !r.judge(&best, c) {
			rest = append(rest, c)
		}
	}
	plan, err := PlanReproduction(ReproduceOptions{Claims: rest})
	if err != nil {
		return best, err
	}
	best.Outcomes = append(best.Outcomes, plan.outcomes...) // what no command can test here
	for _, c := range rest {
		if !slices.ContainsFunc(plan.outcomes, func(o claim.Outcome) bool { return o.Claim.ID == c.ID }) {
			best.Untested = append(best.Untested, c.ID)
		}
	}
	return best, nil
}

// TestTime returns how long weir reproduce needs for claims.
func TestTime(ids []string, fast bool) (total time.Duration, _ error) {
	shipped, err := claim.Shipped()
	if err != nil {
		return 0, err
	}
	all := slices.DeleteFunc(shipped, func(c claim.Claim) bool { return !slices.Contains(ids, c.ID) })
	plan, err := PlanReproduction(ReproduceOptions{Claims: all, Fast: fast})
	if err != nil {
		return 0, err
	}
	for _, s := range plan.Studies {
		total += catalog.Estimate(s)
	}
	return total, nil
}

// judge adds the outcome of a claim in the figure's own run, or else in the last run that tests it; false if none does.
func (r *Results) judge(f *figure.Result, c claim.Claim) bool {
	dirs := []string{f.From}
	for _, one := range slices.Backward(r.of(c.Study.Name)) {
		dirs = append(dirs, one.dir)
	}
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		rep, err := r.load(dir)
		if err != nil {
			continue
		}
		for _, o := range rep.Claims {
			if o.Claim.ID == c.ID {
				f.Outcomes = append(f.Outcomes, o)
				return true
			}
		}
	}
	return false
}

// Nothing says why none of the figures has a value.
func (r *Results) Nothing(fs []figure.Figure) string {
	for _, f := range fs {
		if got, err := r.Figure(f); err == nil && len(got.Missing) > 0 {
			return strings.Join(got.Missing, "; ")
		}
	}
	for _, dir := range r.dirs {
		if _, err := store.Runs(dir); err != nil && len(r.runs) == 0 {
			return dir + " holds no run"
		}
	}
	return "no run of " + fs[0].Study.Name + " in " + strings.Join(r.dirs, ", ")
}
