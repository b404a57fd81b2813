package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/job/bisection"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/study"
)

// settingsFlags name the two sides of a bisection of settings, and say how to bisect.
type settingsFlags struct {
	o              bisection.SettingsOptions
	defaults, json bool
	list           bool
}

func bisectSettings(version string) *cobra.Command {
	f := &settingsFlags{}
	c := &cobra.Command{
		Use:   "settings BEFORE AFTER",
		Short: "Find the setting that explains the change between two runs",
		Long: `Find which setting explains the change between two results directories: a sysctl of the
network namespaces, an offload, a queueing discipline, an MTU, a rule, or a condition or an
option of the network. Or, with --defaults, which setting of this machine explains its
difference from the kernel's defaults.

weir lists everything in which the runs differ. The settings that a lab on this machine
can reproduce become levels: it builds the network of BEFORE, with BEFORE's values for some
of them and AFTER's for the others, and measures two such sets in paired blocks of one run.
It chooses the sets that tell the most, until one setting is left, or two. A last run can
refute it: it changes only that setting, and all but that one. What cannot be applied is
listed with the reason.

Every run is an ordinary results directory in -o, and bisect.json has the outcome.
After an interruption, the same command continues. docs/bisect.md says what the answer rests on.`,
		Example: `  weir bisect settings before after
  weir bisect settings before after --network vxlan-overlay --probe tcp-stream --fast
  weir bisect settings before after --list
  weir bisect settings --defaults --network host --probe tcp-stream`,
		RunE: func(c *cobra.Command, as []string) error {
			if err := f.options(c, as, version); err != nil {
				return err
			}
			return f.bisect(c.Context())
		},
	}
	c.Flags().BoolVar(&f.defaults, "defaults", false, "compare this machine with the kernel's defaults, without BEFORE and AFTER")
	c.Flags().BoolVar(&f.list, "list", false, "list what differs, and measure nothing")
	c.Flags().StringVar(&f.o.Network, "network", "", "network to bisect (default: the one whose ratio to the baseline changed most clearly; with --defaults vxlan-overlay)")
	c.Flags().StringVar(&f.o.Probe, "probe", "", "probe to bisect it with (default likewise; with --defaults tcp-stream)")
	c.Flags().BoolVar(&f.o.Fast, "fast", false, "short windows")
	c.Flags().BoolVar(&f.o.Keep, "keep-disturbed", false, "count trials that programs outside the run disturbed like all others")
	c.Flags().IntVar(&f.o.Blocks, "blocks", 10, "passes through the sets of each run; unless you give it, weir adds as many as the effect needs")
	c.Flags().DurationVar(&f.o.MaxTime, "max-time", 2*time.Minute, "time limit of each run")
	c.Flags().StringVarP(&f.o.Dir, "output", "o", "", "directory for the outcome and all runs (default weir-results/bisect-BEFORE-AFTER)")
	c.Flags().BoolVar(&f.json, "json", false, "print the outcome as JSON")
	_ = c.MarkFlagDirname("output")
	return c
}

// options checks the command line.
func (f *settingsFlags) options(c *cobra.Command, as []string, version string) error {
	o := &f.o
	given := c.Flags().Changed
	switch {
	case f.defaults && len(as) > 0:
		return usage("--defaults compares this machine with the kernel's defaults: leave out %s, or --defaults", strings.Join(as, " "))
	case !f.defaults && len(as) != 2:
		return usage("want two results directories, BEFORE and AFTER, or --defaults; got %d arguments", len(as))
	case given("blocks") && given("max-time"):
		return usage("--max-time limits the blocks that weir plans, and --blocks says how many; leave one out")
	case o.MaxTime <= 0:
		return usage("invalid --max-time %v: want more than 0s", o.MaxTime)
	case o.Blocks < 1 || o.Blocks > mostBlocks:
		return usage("invalid --blocks %d: want 1 to %d", o.Blocks, mostBlocks)
	}
	if given("blocks") {
		o.MaxTime = 0
	}
	o.Caller, o.Dir = caller(version), f.directory(as)
	o.Again = f.again(c, as)
	if !f.defaults {
		o.Before, o.After = as[0], as[1]
		return nil
	}
	s := study.Default()
	s.Networks, s.Probes = []study.Use{{Kind: "vxlan-overlay"}}, []study.Use{{Kind: "tcp-stream"}}
	if o.Network != "" {
		s.Networks[0].Kind = o.Network
	}
	if o.Probe != "" {
		s.Probes[0].Kind = o.Probe
	}
	s.Name = "defaults"
	o.Study = s.Resolve()
	return nil
}

// directory is where the outcome goes: without -o always the same for the same runs, so that the same command continues.
func (f *settingsFlags) directory(as []string) string {
	if f.o.Dir != "" {
		return f.o.Dir
	}
	name := "bisect-defaults"
	if len(as) == 2 {
		name = "bisect-" + filepath.Base(filepath.Clean(as[0])) + "-" + filepath.Base(filepath.Clean(as[1]))
	}
	return job.NewDir(filepath.Join("weir-results", name), "")
}

// again is the command that continues.
func (f *settingsFlags) again(c *cobra.Command, as []string) string {
	words := []string{"weir bisect settings"}
	for _, a := range as {
		words = append(words, plan.ShellWord(a))
	}
	c.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Value.Type() == "bool" {
			words = append(words, "--"+flag.Name)
		} else {
			words = append(words, "--"+flag.Name, plan.ShellWord(flag.Value.String()))
		}
	})
	return strings.Join(words, " ")
}

func (f *settingsFlags) bisect(ctx context.Context) error {
	compare := bisection.PlanSettings
	if f.defaults {
		compare = bisection.PlanDefaults
	}
	b, err := compare(f.o)
	if err != nil {
		return err
	}
	r := &b.Result
	if f.list || r.None() {
		return f.print(b)
	}
	return place.Lab.Enter(ctx, func() error {
		tell.Say(lang.T("%s under %s: settings that can be applied: %d; other differences: %d", r.Network, r.Probe, len(r.Settings), len(r.Unapplied)))
		if _, err := b.Run(ctx); err != nil {
			return err
		}
		return f.print(b)
	})
}

func (f *settingsFlags) print(b *bisection.Settings) error {
	if f.json {
		return printJSON(os.Stdout, b.Result)
	}
	page := section.Settings(b.Result, f.list && !b.Result.None())
	return render.Text(os.Stdout, spoken(page), width())
}
