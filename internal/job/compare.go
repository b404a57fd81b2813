package job

import (
	"slices"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/lang"
)

// Compare compares the runs in directories before and after a change, or in directories of several runs. A change for
// the worse by more than the share most is a regression.
func Compare(before, after []string, most float64, tell lang.Teller) (c analysis.Comparison, err error) {
	a, err := loadSide(before, tell)
	if err != nil {
		return c, err
	}
	b, err := loadSide(after, tell)
	if err != nil {
		return c, err
	}
	c = analysis.Compare(a.runs, b.runs, most)
	c.Differ = facts.Differ(append(a.facts, b.facts...))
	if d, ok := analysis.CoresDiffer(append(slices.Clone(a.runs), b.runs...)); ok {
		c.Differ = append(c.Differ, d)
	}
	return c, nil
}

// A side is the runs before, or those after.
type side struct {
	accounts []*account.Account
	runs     []*analysis.Run
	facts    []map[string][]byte // of each run
}

// loadSide reads the runs that dirs stand for.
func loadSide(dirs []string, tell lang.Teller) (s side, err error) {
	runs, err := RunDirs(dirs)
	if err != nil {
		return s, err
	}
	for _, run := range runs {
		a, err := loadTold(run, false, tell)
		if err != nil {
			return s, err
		}
		s.accounts, s.runs, s.facts = append(s.accounts, a), append(s.runs, a.Analysis), append(s.facts, a.Conditions())
	}
	return s, nil
}
