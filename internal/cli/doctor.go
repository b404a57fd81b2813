package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/export"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/target/vm"
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

// A diagnosis is one line of `weir doctor`.
type diagnosis struct {
	facts.Check
	Needed bool `json:"needed"` // the default study cannot run without it
}

func doctor(ctx context.Context, p doctorPrinter, forbidden error) error {
	var ds []diagnosis
	here := local.Host()
	f, err := here.Facts(ctx)
	if err != nil {
		return exit(exitEnvironment, err)
	}
	for _, c := range facts.Checks(here.FS, f) {
		ds = append(ds, diagnosis{Check: c})
	}
	kernel, err := tryKernel(ctx, forbidden)
	if err != nil {
		return exit(exitEnvironment, err)
	}
	ds = append(ds, kernel...)
	ds = append(ds, checkTrace())
	for _, tool := range catalog.Tools() {
		path, version, err := here.Tool(ctx, tool)
		c := facts.Check{Name: tool.Program, OK: err == nil, Detail: strings.TrimPrefix(version+", "+path, ", ")}
		if err != nil {
			c.Detail = err.Error()
		}
		ds = append(ds, diagnosis{Check: c})
	}
	for _, c := range vm.Checks() {
		ds = append(ds, diagnosis{Check: c})
	}
	ds = append(ds, checkProfile(), checkHistory())
	return p.print(ds, "the default study cannot run on this machine")
}

// A doctorPrinter is where the diagnoses go.
type doctorPrinter struct {
	json  bool
	junit string // file, "" for none
}

// print prints diagnoses and fails with the reason otherwise if a needed one is not OK.
func (p doctorPrinter) print(ds []diagnosis, otherwise string) (err error) {
	if p.json {
		err = printJSON(os.Stdout, ds)
	} else {
		err = printDiagnoses(ds)
	}
	if err := errors.Join(err, writeJUnit(p.junit, "weir doctor", doctorCases(ds))); err != nil {
		return exit(exitEnvironment, err)
	}
	for _, d := range ds {
		if d.Needed && !d.OK {
			return exit(exitEnvironment, fmt.Errorf("%s: %s", otherwise, d.Name))
		}
	}
	return nil
}

// tryKernel creates one of each kernel object that networks use.
func tryKernel(ctx context.Context, forbidden error) ([]diagnosis, error) {
	if forbidden != nil {
		return []diagnosis{{facts.Check{Name: "lab", Detail: forbidden.Error()}, true}}, nil
	}
	fs, err := lab.Supports(ctx)
	if err != nil {
		return nil, err
	}
	var ds []diagnosis
	for _, f := range fs {
		c := facts.Check{Name: "kernel: " + f.Name, OK: f.Err == nil, Detail: "created one"}
		if f.Err != nil {
			c.Detail = f.Err.Error()
		}
		ds = append(ds, diagnosis{c, f.Needed})
	}
	return ds, nil
}

func printDiagnoses(ds []diagnosis) error {
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
		if !d.OK && d.Fix != "" {
			rows = append(rows, []lang.Text{"", "", "→ " + lang.Stored(d.Fix)})
		}
	}
	return printColumns(os.Stdout, rows)
}

// doctorCases returns a check per diagnosis. What the default study can do without is skipped, not failed.
func doctorCases(ds []diagnosis) (out []export.Case) {
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
