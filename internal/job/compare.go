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
	a, err := LoadSide(before, tell)
	if err != nil {
		return c, err
	}
	b, err := LoadSide(after, tell)
	if err != nil {
		return c, err
	}
	c = analysis.Compare(account.Analyses(a), account.Analyses(b), most)
	all := slices.Concat(a, b)
	var conditions []map[string][]byte
	for _, run := range all {
		conditions = append(conditions, run.Conditions())
	}
	c.Differ = facts.Differ(conditions)
	if d, ok := analysis.CoresDiffer(account.Analyses(all)); ok {
		c.Differ = append(c.Differ, d)
	}
	return c, nil
}

// LoadSide reads the runs that dirs stand for, at least one.
func LoadSide(dirs []string, tell lang.Teller) ([]*account.Account, error) {
	runs, err := RunDirs(dirs)
	if err != nil {
		return nil, err
	}
	return LoadAll(runs, false, tell)
}
