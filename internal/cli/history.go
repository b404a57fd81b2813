package cli

import (
	"fmt"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/history"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/target/local"
)

// remember adds a completed run to the history. It never fails a run.
func remember(a *account.Account) {
	if err := a.Remember(); err != nil {
		note(lang.T("%v; later runs cannot use this one to judge how much runs differ", err))
	}
}

// checkHistory describes the history for weir doctor.
func checkHistory() diagnosis {
	c := facts.Check{Name: "history of runs"}
	file, err := history.File()
	if err != nil {
		c.Detail = err.Error()
		return diagnosis{Check: c}
	}
	entries, bad, err := history.Read(file)
	if err != nil {
		c.Detail, c.Fix = err.Error(), "make it readable, or set XDG_STATE_HOME to another directory"
		return diagnosis{Check: c}
	}
	here := account.Machine(facts.Collect(local.Host().FS)).ID()
	runs, cells := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		if e.ID == here {
			runs[e.Run], cells[e.Key()] = true, true
		}
	}
	known := len(history.Spreads(entries, here, ""))
	c.OK = true
	c.Detail = fmt.Sprintf("%s: runs on this machine: %d, cells: %d, in at least %d runs: %d; to forget them, delete the file",
		file, len(runs), len(cells), analysis.MinSpread, known)
	if bad > 0 {
		c.Detail = fmt.Sprintf("%s: runs on this machine: %d, cells: %d, in at least %d runs: %d; to forget them, delete the file; unreadable lines skipped: %d",
			file, len(runs), len(cells), analysis.MinSpread, known, bad)
	}
	return diagnosis{Check: c}
}
