package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/failure"
)

func TestSeriesFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                      "",
		"--runs 5":              "",
		"--runs 5 --every 10m":  "",
		"--runs 0":              "invalid --runs 0: want 1 to 1000",
		"--runs 1001":           "invalid --runs 1001: want 1 to 1000",
		"--every 10m":           "--every 10m0s is the time between the starts of several runs; add --runs N",
		"--runs 2 --every -10s": "invalid --every -10s: want 0 (back to back) or more",
	} {
		var f seriesFlags
		c := &cobra.Command{}
		f.register(c)
		if err := c.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		err := f.check(c)
		if (err == nil) != (want == "") || err != nil && (err.Error() != want || status(err) != failure.Usage) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
