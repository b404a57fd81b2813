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

// writeJUnit writes the checks of a command to the file that --junit names; "" means none.
func writeJUnit(file, suite string, cases []export.Case) error {
	if file == "" {
		return nil
	}
	return writeTo(file, func(w io.Writer) error { return export.JUnit(w, suite, cases) })
}
