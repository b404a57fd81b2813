package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/imported"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/section"
)

func importCommand() *cobra.Command {
	o := job.ImportOptions{Command: append([]string{"weir"}, os.Args[1:]...), Stdin: os.Stdin}
	var as string
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "Turn outputs of other tools that you already have into results",
		Long: `Turn outputs of other tools into results, for weir report and weir compare. Weir
recognizes the outputs of iperf3 (JSON, text), iperf 2 (text, -y C), netperf (tables,
omni), sockperf, nuttcp, qperf, ping, fping, osu_latency, osu_bw, NetPIPE, wrk, h2load,
pgbench, dnsperf and redis-benchmark, in any units, also in logs, after times and
names, and in JSON. It takes what arrived, not what was sent, and refuses a file that does
not state it, or that measured both directions at once.

The network of a file is its directory's name, or --network, or a part of its path: in
--as, {network} and {probe} name those, {n}, which can occur several times, is ignored, and any
other name in braces is a factor. Options that the output states, such as the size or the number of
streams, become factors by themselves.

The results have no blocks: nothing is paired, and intervals rest on how the files of a
cell differ. Importing again with the same -o adds to the results. Exit status 1: a file
was refused; the others are imported.`,
		Example: `  weir import --network calico calico-1.json calico-2.json -o cluster
  weir import --network flannel flannel-*.json -o cluster      # adds to it
  weir import -r outputs --as '{network}/{n}/{probe}-client.stdout' --baseline baremetal
  iperf -c server -y C | weir import - --network lan --probe iperf2-tcp
  weir report cluster`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if as != "" {
				t, err := imported.ParseTemplate(as)
				if err != nil {
					return usage("--as: %w", err)
				}
				o.As = t
			}
			if o.Network != "" && o.As != nil && o.As.Names("network") {
				return usage("--network and {network} in --as both name the network; use one")
			}
			if err := (imported.Assignment{Network: o.Network}).Check(); err != nil {
				return usage("--network: %w", err)
			}
			out, err := job.Import(cmd.Context(), o, paths)
			if err != nil {
				return err
			}
			return printImported(out)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.Dir, "output", "o", "", "directory for the results, new or of an earlier import (default weir-results/imported-TIME)")
	f.StringVar(&o.Network, "network", "", "network of all the files")
	f.StringVar(&as, "as", "", "how paths name the network, the probe and further factors")
	f.StringVar(&o.Probe, "probe", "", "what the files measured, if they do not say: iperf2-tcp for -y C, netpipe-tcp")
	f.StringVar(&o.Baseline, "baseline", "", "network that divides the others (default host, or the first)")
	f.BoolVarP(&o.Recursive, "recursive", "r", false, "import the files below directories; with --as, those that fit it")
	f.StringSliceVar(&o.Factors, "factor", nil, "facts that the files state, to compare as factors: datagram (of iperf3's UDP), congestion, kernel, host, tool")
	_ = c.MarkFlagDirname("output")
	_ = c.RegisterFlagCompletionFunc("probe", complete(catalog.Names(catalog.Probes)))
	return c
}

const (
	mostLines   = 24 // of a terminal
	mostReasons = 6
	mostNamed   = 8 // refused files of which each gets a line
)

// printImported prints the outcome of an import on one screen: how many files were imported, why the others were not,
// and the answer.
func printImported(x job.Imported) error {
	line := lang.T("%d files: %d imported, %d refused", x.Files, x.Imported, len(x.Refused))
	if x.Files == 1 {
		line = lang.T("1 file: %d imported, %d refused", x.Imported, len(x.Refused))
	}
	if x.Other > 0 {
		line += lang.T("; %d more do not fit --as", x.Other)
	}
	fmt.Println(said(line))
	printed := 4 + printRefused(x)
	if x.Imported > 0 {
		fmt.Println()
		answer, err := answer(x.Dir, mostLines-printed)
		if err != nil {
			return err
		}
		os.Stdout.Write(answer)
		fmt.Println()
		dir := imported.Shown(x.Dir)
		line := lang.T("%d results of %d networks in %s, divided by %s; read them with: weir report %s", x.Results, x.Networks, dir, x.Baseline, dir)
		if x.Networks == 1 {
			line = lang.T("%s of one network in %s; next: weir report %s", prose.Count(x.Results, "imported result"), dir, dir)
		}
		fmt.Println(said(line))
	}
	switch {
	case x.Files == 0:
		return errors.New("no file to import")
	case len(x.Refused) > 0:
		return fmt.Errorf("%d of %d files refused", len(x.Refused), x.Files)
	}
	return nil
}

// answer returns what a report says first, with its table if that fits into this many lines.
func answer(dir string, lines int) ([]byte, error) {
	a, err := job.LoadInside(dir, false)
	if err != nil {
		return nil, err
	}
	page := spoken(section.Report(a))
	var b bytes.Buffer
	if err := render.Brief(&b, page, width(), colors()); err != nil || bytes.Count(b.Bytes(), []byte("\n")) <= lines {
		return b.Bytes(), err
	}
	for i := range page.Sections {
		page.Sections[i].Tables = nil
	}
	b.Reset()
	err = render.Brief(&b, page, width(), colors())
	return b.Bytes(), err
}

// printRefused names the files that were refused, or, of many, the reasons, and returns how many lines it printed.
func printRefused(x job.Imported) (lines int) {
	say := func(s string) {
		lines += 1 + (len(s)-1)/max(width(), 1)
		fmt.Fprintln(os.Stderr, s)
	}
	reasons := imported.Reasons(x.Refused)
	if len(x.Refused) <= mostNamed {
		for _, r := range x.Refused {
			say(fmt.Sprintf("weir: %s: %s", imported.Shown(r.Path), imported.Clean(r.Reason.Error())))
		}
		return lines
	}
	for _, r := range reasons[:min(len(reasons), mostReasons)] {
		line := lang.T("%d files: %s", r.Files, imported.Clean(r.Reason.Error()))
		if r.Files == 1 {
			line = lang.T("1 file: %s", imported.Clean(r.Reason.Error()))
		}
		say(lang.Fit(said(line), width()))
		say(lang.Fit("    "+said(lang.T("such as %s", imported.Shown(r.Path))), width()))
	}
	left := 0
	for _, r := range reasons[min(len(reasons), mostReasons):] {
		left += r.Files
	}
	switch {
	case left > 0 && x.Imported > 0:
		say(lang.Fit(said(lang.T("%d files: other reasons; %s has all", left, imported.Shown(x.Dir)+"/imported.json")), width()))
	case left > 0:
		say(said(lang.T("%d files: other reasons", left)))
	}
	return lines
}
