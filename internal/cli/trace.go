package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/study"
)

// traceFlags say what to trace and where the result goes.
type traceFlags struct {
	labFlags
	networks    []string
	mode, out   string
	size, count int
	json        bool
	machines    targetFlags
}

func traceCommand() *cobra.Command {
	f := traceFlags{size: job.TracedSize, count: job.TracedCount}
	c := &cobra.Command{
		Use:   "trace -n NETWORK",
		Short: "Prove which path packets take, with the time of every hop",
		Long: `Build a network, send requests through it one at a time, and record when the
packets of each pass every device: in the kernel's tracepoints (BPF) as root, with
packet sockets otherwise. Print the path there and back, hop by hop, less the time
that the recording itself takes (docs/trace.md).

With --ssh or --kube, trace networks that exist: with packet sockets where the user
on both machines is root or can use sudo without a password, otherwise with the
counters of the devices. Each machine's times are by its own clock.`,
		Example: `  sudo weir trace -n vxlan-overlay
  sudo weir trace -n host,bridge,vxlan-overlay -o path.svg
  weir trace -n relay --json
  weir trace --ssh a,b -n 'host,{use: via, dev: wg0}'`,
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return f.trace(c) },
	}
	f.register(c)
	return c
}

func (f *traceFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringArrayVarP(&f.networks, "networks", "n", nil, "networks (weir list networks)")
	fl.IntVar(&f.size, "size", f.size, "bytes of a request and of its reply")
	fl.IntVar(&f.count, "count", f.count, "requests to trace")
	fl.StringVar(&f.mode, "by", "", "bpf, taps or counters (default: the best that this process can use, see weir doctor)")
	fl.StringVarP(&f.out, "output", "o", "", "file for the picture, .svg; with several networks, each has its name added")
	fl.BoolVar(&f.json, "json", false, "print machine-readable output")
	f.labFlags.register(c)
	f.machines.register(c)
	_ = c.RegisterFlagCompletionFunc("networks", complete(catalog.In(network.InLab)))
}

func (f *traceFlags) check() error {
	if f.mode != "" && !slices.Contains(packettrace.Modes, f.mode) {
		return usage("--by: unknown mode %q: want one of %s", f.mode, strings.Join(packettrace.Modes, ", "))
	}
	if f.count < 1 || f.count > job.MaxTraced {
		return usage("--count: %d requests: want 1 to %d", f.count, job.MaxTraced)
	}
	return failure.Usage.Of(event.Within("--size", f.size, event.MinDatagram, event.MaxDatagram, "bytes"))
}

// trace traces what the flags describe, and prints each trace as soon as it is complete.
func (f *traceFlags) trace(c *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	s, err := f.study(c)
	if err != nil {
		return err
	}
	if err := pictureFormat("", f.out); err != nil {
		return err
	}
	programs, err := f.machines.program()
	if err != nil {
		return err
	}
	at, err := place.Of(s, programs, tell)
	if err != nil {
		return err
	}
	o := job.TraceOptions{At: at, Study: s, ByDefault: len(f.networks) == 0, Size: f.size, Count: f.count, Mode: f.mode}
	return at.Enter(c.Context(), func() error { return f.print(c.Context(), o) })
}

func (f *traceFlags) print(ctx context.Context, o job.TraceOptions) error {
	printed := 0
	all, err := job.Trace(ctx, o, func(t packettrace.Trace) error {
		if f.json {
			return nil
		}
		if printed++; printed > 1 {
			fmt.Println()
		}
		return t.Text(os.Stdout, language)
	})
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := drawTraces(f.out, all); err != nil {
			return failure.Environment.Of(err)
		}
	}
	if f.json {
		return printJSON(os.Stdout, all)
	}
	return nil
}

// study returns a study of the networks to trace.
func (f *traceFlags) study(c *cobra.Command) (study.Study, error) {
	s, err := f.machines.only(c, f.networks...)
	if err == nil && !s.Target.Exists() {
		if len(f.networks) == 0 {
			return s, errNoNetwork
		}
		s, err = f.labFlags.study(c, f.networks...)
	}
	switch {
	case err != nil:
		return s, failure.Usage.Of(err)
	case s.Target.Exists() && f.mode == packettrace.ByBPF:
		return s, usage("--by bpf would record every packet of machines that are not weir's; use taps or counters")
	case s.Target.InCluster():
		return s, usage("--in-cluster is for weir run; leave it out, and weir traces from here")
	}
	return s, nil
}

// drawTraces writes the pictures that there are.
func drawTraces(file string, all []packettrace.Trace) error {
	for _, t := range all {
		if len(t.Request.Hops) == 0 {
			tell.Note(lang.T("no picture of %s: counters show no times", t.Network))
			continue
		}
		lanes := t.Picture()
		sheet := chart.Sheet{Title: lanes.Alt, Panes: []chart.Pane{{Chart: lanes}}}
		svg, err := lang.In(language, sheet).SVG()
		if err != nil {
			return err
		}
		name := file
		if len(all) > 1 {
			name = strings.TrimSuffix(file, ".svg") + "-" + t.Network + ".svg"
		}
		if err := writePicture(name, svg); err != nil {
			return err
		}
	}
	return nil
}
