package cli

import (
	"io"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/export"
)

// exports are the formats of `weir report` that other tools read. Their names are the consumers'.
var exports = map[string]func(io.Writer, []*account.Account) error{
	"gobench":               export.GoBench,
	"openmetrics":           export.OpenMetrics,
	"customBiggerIsBetter":  export.BiggerIsBetter,
	"customSmallerIsBetter": export.SmallerIsBetter,
}

// writeExport writes a run, or the runs of a series together. See writeTo.
func writeExport(dirs []string, keep bool, format, out string) error {
	var runs []*account.Account
	for _, dir := range dirs {
		rep, err := load(dir, keep)
		if err != nil {
			return err
		}
		warn(rep.Problems...)
		runs = append(runs, rep)
	}
	return writeTo(out, func(w io.Writer) error { return exports[format](w, runs) })
}

// writeJUnit writes the checks of a command to the file that --junit names; "" is none.
func writeJUnit(file, suite string, cases []export.Case) error {
	if file == "" {
		return nil
	}
	return writeTo(file, func(w io.Writer) error { return export.JUnit(w, suite, cases) })
}
