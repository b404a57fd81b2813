package cli

import (
	"slices"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/report/several"
	"github.com/weir-bench/weir/internal/store"
)

// writeTogether writes one page about the runs of several directories.
func writeTogether(dirs []string, keep bool, format, section, out string) error {
	if formats[format] == nil || format == "ratios" || section != "" {
		return usage("--section, and formats other than text, html, md, summary and json, need a single directory, such as %s", dirs[0])
	}
	page, err := together(dirs, keep)
	if err != nil {
		return err
	}
	return writeDocument(page, format, out)
}

// together returns the page about the runs of several directories.
func together(dirs []string, keep bool) (*doc.Document, error) {
	if _, err := runDirs(dirs); err != nil { // a run named twice
		return nil, err
	}
	var groups [][]*account.Account
	var all []*account.Account
	for _, dir := range dirs {
		runs, err := store.Runs(dir)
		if err != nil {
			return nil, usage("cannot read results from %w", err)
		}
		var g []*account.Account
		for _, run := range runs {
			rep, err := load(run, keep)
			if err != nil {
				return nil, err
			}
			g = append(g, rep)
		}
		groups, all = append(groups, g), append(all, g...)
	}
	page := several.Together(groups)
	if page == nil {
		return nil, usage("no cell has results in more than one of these: %s; name runs that share a probe, a network and the levels of all factors", measures(all))
	}
	if slices.ContainsFunc(all, func(r *account.Account) bool { return r.Unpaired }) {
		page.Warnings = append(page.Warnings, unpairedWarning)
	}
	return page, nil
}

// document returns the report of one run, the pooled one of a series, or the page about several directories.
func document(dirs []string, keep bool) (*doc.Document, error) {
	if len(dirs) > 1 {
		return together(dirs, keep)
	}
	runs, err := store.Runs(dirs[0])
	if err != nil {
		return nil, usage("cannot read results from %w", err)
	}
	if runs[0] != dirs[0] {
		return poolSeries(dirs[0], runs, keep)
	}
	rep, err := loadInside(dirs[0], keep)
	if err != nil {
		return nil, err
	}
	return section.Report(rep), nil
}
