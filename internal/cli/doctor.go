package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/lab"
	"github.com/weir-bench/weir/internal/rootless"
)

func doctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "What can run here, what cannot, why, and what would change it",
		Args:  args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			err := inLab(func() error { return doctor(c.Context(), asJSON, nil) })
			if errors.Is(err, rootless.ErrForbidden) {
				return doctor(c.Context(), asJSON, err)
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// doctor prints every check. forbidden is why there is no lab to try the kernel in.
func doctor(ctx context.Context, asJSON bool, forbidden error) error {
	checks := facts.Checks(os.DirFS("/"))
	if forbidden != nil {
		checks = append(checks, facts.Check{Name: "lab", Detail: forbidden.Error(), Needed: true})
	} else {
		fs, err := lab.Supports(ctx)
		if err != nil {
			return exit(exitEnvironment, err)
		}
		for _, f := range fs {
			ch := facts.Check{Name: "kernel: " + f.Name, OK: f.Err == nil, Needed: true}
			if f.Err != nil {
				ch.Detail = f.Err.Error()
			}
			checks = append(checks, ch)
		}
	}
	for _, t := range facts.Tools() {
		path, version, err := facts.Tool(ctx, t.Program)
		ch := facts.Check{Name: "tool: " + t.Program, OK: err == nil, Detail: version + " " + path}
		if err != nil {
			ch.Detail = err.Error()
		}
		checks = append(checks, ch)
	}
	if asJSON {
		if err := printJSON(os.Stdout, checks); err != nil {
			return err
		}
	} else {
		printChecks(checks)
	}
	for _, ch := range checks {
		if ch.Needed && !ch.OK {
			return exit(exitEnvironment, fmt.Errorf("%s: the default study cannot run here", ch.Name))
		}
	}
	return nil
}

func printChecks(checks []facts.Check) {
	for _, c := range checks {
		mark := "ok     "
		switch {
		case !c.OK && c.Needed:
			mark = "MISSING"
		case !c.OK:
			mark = "note   "
		}
		fmt.Printf("%s  %-28s %s\n", mark, c.Name, c.Detail)
		if !c.OK && c.Fix != "" {
			fmt.Printf("%38s %s\n", "to change it:", c.Fix)
		}
	}
}
