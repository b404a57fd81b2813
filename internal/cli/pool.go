package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/several"
	"github.com/weir-bench/weir/internal/store"
)

func poolCommand() *cobra.Command {
	var format, out string
	var keep, asJSON bool
	names := []string{"text", "html", "md", "summary", "ratios", "json"}
	c := &cobra.Command{
		Use:   "pool DIR…",
		Short: "Pool several runs into one report, whose intervals cover other runs too",
		Long: `Pool runs of one study, cell by cell. The interval of a single run covers only that
run; effects that outlast the run are invisible to it. A pooled interval also covers
differences between runs, and is wide when they are few. Each DIR is a results
directory or a directory of several runs (weir run --runs).`,
		Example: `  weir pool monday tuesday wednesday
  weir pool results -o pooled.html`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, as []string) error {
			if asJSON {
				format = "json"
			}
			format, err := documentFormat(format, asJSON || c.Flags().Changed("format"), out, names)
			if err != nil {
				return err
			}
			dirs, err := runDirs(as)
			if err != nil {
				return err
			}
			page, err := pool(dirs, keep)
			if err != nil {
				return err
			}
			return writeDocument(page, format, out)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text, html, md, summary (Markdown, the main tables), ratios (as CSV) or json; default: that of -o, such as pooled.html")
	c.Flags().BoolVar(&asJSON, "json", false, "print machine-readable output (--format json)")
	c.Flags().StringVarP(&out, "output", "o", "-", "file to write")
	c.Flags().BoolVar(&keep, "keep-disturbed", false, "count trials that programs outside the run disturbed like all others")
	_ = c.RegisterFlagCompletionFunc("format", complete(names))
	return c
}

// runDirs returns the run directories that these directories stand for. It refuses a run that occurs
// twice: it would count as two, and make the spread between runs look smaller than it is.
func runDirs(dirs []string) (all []string, _ error) {
	seen := map[string]string{}
	for _, dir := range dirs {
		runs, err := store.Runs(dir)
		if err != nil {
			return nil, usage("cannot read results from %w", err)
		}
		for _, run := range runs {
			real, err := filepath.EvalSymlinks(run)
			if err != nil {
				return nil, exit(exitEnvironment, err)
			}
			if real, err = filepath.Abs(real); err != nil {
				return nil, exit(exitEnvironment, err)
			}
			if other, ok := seen[real]; ok {
				return nil, usage("%s and %s are the same run; name it once", other, run)
			}
			seen[real] = run
			all = append(all, run)
		}
	}
	return all, nil
}

// writeDocument writes a report in a format. See writeTo.
func writeDocument(page *doc.Document, format, out string) error {
	return writeTo(out, func(w io.Writer) error { return formats[format](w, spoken(page)) })
}

var errNoPool = errors.New("no cell has results in more than one run")

// poolSeries returns the pooled report of the runs of the series in dir. That they share no cell is what came of them, and
// no mistake in the command.
func poolSeries(dir string, runs []string, keep bool) (*doc.Document, error) {
	page, err := pool(runs, keep)
	if errors.Is(err, errNoPool) {
		err = exit(exitCheck, fmt.Errorf("%s: %w; weir report --keep-disturbed %s also counts disturbed trials, and weir report %s shows one run",
			dir, errNoPool, plan.ShellWord(dir), plan.ShellWord(runs[0])))
	}
	return page, err
}

// pool returns the pooled report of runs, complete or not. With keep, disturbed trials count like all
// others.
func pool(dirs []string, keep bool) (*doc.Document, error) {
	var runs []*account.Account
	var as []*analysis.Run
	for _, dir := range dirs {
		rep, err := load(dir, keep)
		if err != nil {
			return nil, err
		}
		runs, as = append(runs, rep), append(as, rep.Analysis)
	}
	p := analysis.Pool(as, 0)
	if len(runs) > 1 && !slices.ContainsFunc(p.Cells, func(c analysis.PooledCell) bool { return c.Counted() > 1 }) {
		return nil, usage("%w: %s; pool runs of one study", errNoPool, measures(runs))
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
