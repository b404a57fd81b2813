package cli

import (
	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/lang"
)

// remember adds a completed run to the history. It never fails a run.
func remember(a *account.Account) {
	if err := a.Remember(); err != nil {
		note(lang.T("%v; later runs cannot use this one to judge how much runs differ", err))
	}
}
