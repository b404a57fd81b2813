package cli

import (
	"bytes"
	"encoding/csv"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/export"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/section"
)

// The documentation names every format, every column of CSV and every schema.
func TestExportsAreDocumented(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	b, err := os.ReadFile("../../docs/exports.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := recordedRuns(t)["load"]
	rep, err := job.Load(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	c, trials, err := job.Trials(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all, ratios bytes.Buffer
	if err := render.CSV(&all, c.Results, trials); err != nil {
		t.Fatal(err)
	}
	if err := render.Ratios(&ratios, section.Report(rep)); err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(slices.Collect(maps.Keys(exports)), schemaNames())
	for _, file := range []*bytes.Buffer{&all, &ratios} {
		head, err := csv.NewReader(file).Read()
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, head...)
	}
	for _, name := range want {
		if strings.HasPrefix(name, "asked.") {
			name = "asked.FACTOR"
		}
		if !regexp.MustCompile(`(?m)^\|.*\b` + regexp.QuoteMeta(name) + `\b`).Match(b) {
			t.Errorf("docs/exports.md does not describe %s", name)
		}
	}
}

// What a machine lacks fails where the default study needs it, and is skipped with its remedy elsewhere.
func TestDoctorCases(t *testing.T) {
	check := func(name string, ok, needed bool) job.Diagnosis {
		return job.Diagnosis{Check: facts.Check{Name: name, OK: ok, Detail: "detail", Fix: "fix"}, Needed: needed}
	}
	got := doctorCases([]job.Diagnosis{check("works", true, true), check("missing", false, true), check("note", false, false)})
	want := []export.Case{{Class: "weir.doctor", Name: "works", Text: "detail"}, {Class: "weir.doctor", Name: "missing", State: export.Failed, Why: "detail", Text: "fix"},
		{Class: "weir.doctor", Name: "note", State: export.Skipped, Why: "detail", Text: "fix"}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Trials that failed are broken checks: their claims could not be judged.
func TestClaimCases(t *testing.T) {
	if got := claimCases(nil, nil); len(got) != 0 {
		t.Errorf("no outcome: %+v", got)
	}
	got := claimCases(nil, errors.New("1 of 2 trials failed"))
	if len(got) != 1 || got[0].State != export.Errored || got[0].Why != "1 of 2 trials failed" {
		t.Errorf("failed trials: %+v", got)
	}
}
