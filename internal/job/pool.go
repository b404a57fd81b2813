package job

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/report/several"
	"github.com/weir-bench/weir/internal/store"
)

// RunDirs returns the run directories that these directories stand for. It refuses a run that occurs
// twice: it would count as two, and make the spread between runs look smaller than it is.
func RunDirs(dirs []string) (all []string, _ error) {
	seen := map[string]string{}
	for _, dir := range dirs {
		runs, err := store.Runs(dir)
		if err != nil {
			return nil, failure.Usage.Errorf("cannot read results from %w", err)
		}
		for _, run := range runs {
			real, err := filepath.EvalSymlinks(run)
			if err != nil {
				return nil, failure.Environment.Of(err)
			}
			if real, err = filepath.Abs(real); err != nil {
				return nil, failure.Environment.Of(err)
			}
			if other, ok := seen[real]; ok {
				return nil, failure.Usage.Errorf("%s and %s are the same run; name it once", other, run)
			}
			seen[real] = run
			all = append(all, run)
		}
	}
	return all, nil
}

var errNoPool = errors.New("no cell has results in more than one run")

// poolSeries returns the pooled report of the runs of the series in dir. If they share no cell, that is an outcome of
// the runs, and not a mistake in the command.
func poolSeries(dir string, runs []string, keep bool) (*doc.Document, error) {
	page, err := Pool(runs, keep)
	if errors.Is(err, errNoPool) {
		err = failure.Check.Of(fmt.Errorf("%s: %w; weir report --keep-disturbed %s also counts disturbed trials, and weir report %s shows one run",
			dir, errNoPool, plan.ShellWord(dir), plan.ShellWord(runs[0])))
	}
	return page, err
}

// Pool returns the pooled report of runs, complete or not. With keep, disturbed trials count like all
// others.
func Pool(dirs []string, keep bool) (*doc.Document, error) {
	var runs []*account.Account
	for _, dir := range dirs {
		rep, err := Load(dir, keep)
		if err != nil {
			return nil, err
		}
		runs = append(runs, rep)
	}
	p := analysis.Pool(account.Analyses(runs), 0)
	if len(runs) > 1 && !slices.ContainsFunc(p.Cells, func(c analysis.PooledCell) bool { return c.Counted() > 1 }) {
		return nil, failure.Usage.Errorf("%w: %s; pool runs of one study", errNoPool, measures(runs))
	}
	page := several.Pooled(runs, p)
	if slices.ContainsFunc(runs, func(r *account.Account) bool { return r.Unpaired }) {
		page.Warnings = append(page.Warnings, unpairedWarning)
	}
	return page, nil
}

var unpairedWarning = string(lang.T("imported results, unpaired: a ratio of such a run divides geometric means of files, not values of the same block"))

// measures says what each of several runs measures, for errors about runs with nothing in common.
func measures(runs []*account.Account) string {
	var each []string
	for _, r := range runs {
		text := fmt.Sprintf("%s measures %s on %s", r.Dir, strings.Join(r.Probes, ", "), strings.Join(r.Networks, ", "))
		if slices.ContainsFunc(runs, func(other *account.Account) bool { return other.Baseline != r.Baseline }) {
			text += ", relative to " + cmp.Or(r.Baseline, "nothing")
		}
		levels := map[string]map[string]bool{}
		for _, t := range r.Analysis.Tables {
			for factor, level := range t.Config {
				if levels[factor] == nil {
					levels[factor] = map[string]bool{}
				}
				levels[factor][level] = true
			}
		}
		for _, factor := range slices.Sorted(maps.Keys(levels)) {
			text += fmt.Sprintf(", with %s %s", factor, strings.Join(slices.SortedFunc(maps.Keys(levels[factor]), analysis.Natural), " and "))
		}
		each = append(each, text)
	}
	return strings.Join(each, "; ")
}

// Together returns the page about the runs of several directories.
func Together(dirs []string, keep bool) (*doc.Document, error) {
	if _, err := RunDirs(dirs); err != nil { // a run named twice
		return nil, err
	}
	groups, err := accounts(dirs, keep)
	if err != nil {
		return nil, err
	}
	return together(groups)
}

// accounts reads the runs of each directory.
func accounts(dirs []string, keep bool) (groups [][]*account.Account, _ error) {
	for _, dir := range dirs {
		runs, err := store.Runs(dir)
		if err != nil {
			return nil, failure.Usage.Errorf("cannot read results from %w", err)
		}
		var g []*account.Account
		for _, run := range runs {
			rep, err := Load(run, keep)
			if err != nil {
				return nil, err
			}
			g = append(g, rep)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// together returns the page about groups of runs.
func together(groups [][]*account.Account) (*doc.Document, error) {
	all := slices.Concat(groups...)
	page := several.Together(groups)
	if page == nil {
		return nil, failure.Usage.Errorf("no cell has results in more than one of these: %s; name runs that share a probe, a network and the levels of all factors", measures(all))
	}
	if slices.ContainsFunc(all, func(r *account.Account) bool { return r.Unpaired }) {
		page.Warnings = append(page.Warnings, unpairedWarning)
	}
	return page, nil
}

// Document returns the report of one run, the pooled one of a series, or the page about several directories.
func Document(dirs []string, keep bool) (*doc.Document, error) {
	if len(dirs) > 1 {
		return Together(dirs, keep)
	}
	runs, err := store.Runs(dirs[0])
	if err != nil {
		return nil, failure.Usage.Errorf("cannot read results from %w", err)
	}
	if runs[0] != dirs[0] {
		return poolSeries(dirs[0], runs, keep)
	}
	rep, err := LoadInside(dirs[0], keep)
	if err != nil {
		return nil, err
	}
	return section.Report(rep), nil
}
