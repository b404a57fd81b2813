package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/export"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/remote"
)

func doctorCommand() *cobra.Command {
	var p doctorPrinter
	var machines targetFlags
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check what can run on this machine or on others, and how to enable the rest",
		Long: `Check what runs need, by trying it where possible. The exit status is 3 when the
default study cannot run on this machine.

With --ssh or --kube, check the machines of a run instead: connect to each, start
weir there, open the networks, and describe what is found. Nothing is measured, and
nothing remains.`,
		Example: `  weir doctor
  weir doctor --ssh a,b
  weir doctor --kube --context staging`,
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := machines.only(c)
			if err != nil {
				return err
			}
			if s.Target.Exists() {
				programs, err := machines.program()
				if err != nil {
					return err
				}
				return doctorMachines(c.Context(), s, programs, p)
			}
			err = place.Lab.Enter(c.Context(), func() error { return doctor(c.Context(), p, nil) })
			if errors.Is(err, rootless.ErrForbidden) {
				return doctor(c.Context(), p, err)
			}
			return err
		},
	}
	machines.register(c)
	c.Flags().BoolVar(&p.json, "json", false, "print machine-readable output")
	c.Flags().StringVar(&p.junit, "junit", "", "also write a test case per check to this file, as JUnit XML")
	return c
}

func doctor(ctx context.Context, p doctorPrinter, forbidden error) error {
	ds, err := job.Doctor(ctx, forbidden)
	if err != nil {
		return err
	}
	return p.print(ds, "the default study cannot run on this machine")
}

func doctorMachines(ctx context.Context, s study.Study, programs remote.Programs, p doctorPrinter) error {
	at, err := place.Of(s, programs, tell)
	if err != nil {
		return err
	}
	ds, err := job.DoctorMachines(ctx, at, s)
	if err != nil {
		return err
	}
	return p.print(ds, "a run on "+place.About(s.Target).String()+" cannot work")
}

// A doctorPrinter is where the diagnoses go.
type doctorPrinter struct {
	json  bool
	junit string // file, "" for none
}

// print prints diagnoses. If a needed one is not OK, it fails with the reason in otherwise.
func (p doctorPrinter) print(ds []job.Diagnosis, otherwise string) (err error) {
	if p.json {
		err = printJSON(os.Stdout, ds)
	} else {
		err = printDiagnoses(ds)
	}
	if err := errors.Join(err, writeJUnit(p.junit, "weir doctor", doctorCases(ds))); err != nil {
		return failure.Environment.Of(err)
	}
	for _, d := range ds {
		if d.Needed && !d.OK {
			return failure.Environment.Errorf("%s: %s", otherwise, d.Name)
		}
	}
	return nil
}

func printDiagnoses(ds []job.Diagnosis) error {
	var rows [][]lang.Text
	for _, d := range ds {
		mark := lang.Text("ok")
		switch {
		case !d.OK && d.Needed:
			mark = lang.T("MISSING")
		case !d.OK:
			mark = lang.T("note")
		}
		rows = append(rows, []lang.Text{mark, lang.Stored(d.Name), lang.Stored(d.Detail)})
		if d.OK || d.Fix == "" {
			continue
		}
		for fix := range strings.SplitSeq(d.Fix, "\n") {
			rows = append(rows, []lang.Text{"", "", "→ " + lang.Stored(fix)})
		}
	}
	return printColumns(os.Stdout, rows)
}

// doctorCases returns a check per job.Diagnosis. What the default study can do without is skipped, not failed.
func doctorCases(ds []job.Diagnosis) (out []export.Case) {
	for _, d := range ds {
		c := export.Case{Class: "weir.doctor", Name: d.Name, Text: d.Detail}
		if !d.OK {
			c.State, c.Why, c.Text = export.Skipped, d.Detail, d.Fix
			if d.Needed {
				c.State = export.Failed
			}
		}
		out = append(out, c)
	}
	return out
}
