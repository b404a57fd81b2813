package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/rootless"
)

func listCommand() *cobra.Command {
	var asJSON, properties bool
	var from string
	names := catalog.Names(job.Lists)
	c := &cobra.Command{
		Use:               "list networks|probes|factors|studies|claims",
		Short:             "List the networks, probes, factors, studies and claims",
		Args:              args(cobra.ExactArgs(1)),
		ValidArgsFunction: complete(names),
		RunE: func(c *cobra.Command, as []string) error {
			list := job.Lists[as[0]]
			if list == nil {
				return usage("cannot list %q%s", as[0], cmp.Or(meant(as[0], names), "; use one of "+strings.Join(names, ", ")))
			}
			if properties && as[0] != "networks" {
				return usage("--properties lists networks only, not %s", as[0])
			}
			if from != "" && !properties {
				return usage("--from adds the ratios of a run to --properties; add that, or use weir report %s", from)
			}
			items, err := list()
			if err != nil {
				return err
			}
			if from != "" {
				if items, err = measured(items, from); err != nil {
					return err
				}
			}
			if asJSON {
				return printJSON(os.Stdout, items)
			}
			if properties {
				return printProperties(os.Stdout, items)
			}
			return listHere(c.Context(), as[0], items)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print machine-readable output")
	c.Flags().BoolVar(&properties, "properties", false, "compare how networks connect, address and isolate pods, how these find services, and how others reach them")
	c.Flags().StringVar(&from, "from", "", "with --properties: compare the networks of this run, and add what it measured")
	return c
}

// listHere prints items, and marks those that cannot run on this machine. Without a lab it marks none: doctor says
// more.
func listHere(ctx context.Context, what string, items []job.Item) error {
	show := func(unable map[string]string) error {
		var rows [][]lang.Text
		for _, i := range items {
			opts := lang.Text("")
			if len(i.Options) > 0 {
				opts = " [" + lang.Join(i.Options, " ") + "]"
			}
			about := lang.Stored(i.About) + opts + with(i)
			if why := unable[i.Name]; why != "" {
				about += lang.T("; not here: %s", briefly(why))
			}
			rows = append(rows, []lang.Text{lang.Text(i.Name), about})
		}
		return printColumns(os.Stdout, rows)
	}
	switch what {
	case "probes":
		return show(job.ProbesUnable())
	case "networks":
		err := place.Lab.Enter(ctx, func() error {
			can, err := job.HereAble(ctx)
			if err != nil {
				return failure.Environment.Of(err)
			}
			return show(can.Networks)
		})
		if !errors.Is(err, rootless.ErrForbidden) {
			return err
		}
	}
	return show(nil)
}

// briefly cuts from a reason what doctor says about it.
func briefly(why string) string {
	why, _, _ = strings.Cut(why, "\n")
	why, _, _ = strings.Cut(why, " (")
	if lacks, _, ok := strings.Cut(why, ": "); ok && strings.HasPrefix(why, "the kernel lacks ") {
		return lacks
	}
	return why
}

// with names the flags of the targets, other than the lab, that have a network.
func with(i job.Item) lang.Text {
	var flags []string
	for _, w := range i.In {
		if w != network.InLab {
			flags = append(flags, "--"+string(w))
		}
	}
	switch {
	case flags == nil:
		return ""
	case slices.Contains(i.In, network.InLab):
		return lang.T(" (also with %s)", strings.Join(flags, ", "))
	}
	return lang.T(" (with %s)", strings.Join(flags, ", "))
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
