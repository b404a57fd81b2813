package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/topo"
)

// ofTopology lists the flags of a study that `weir trace` has too.
var ofTopology = []string{"hosts", "pods", "mtu", "link", "delay", "jitter", "ipv6", "pods-ipv6"}

func traceCommand() *cobra.Command {
	var networks []string
	var nic, mode, out string
	var asJSON bool
	var machines targetFlags
	t := tracing{at: place.Lab, size: tracedSize, count: tracedCount}
	c := &cobra.Command{
		Use:   "trace -n NETWORK",
		Short: "Prove which path packets take, with the time of every hop",
		Long: `Build a network, send requests through it one at a time, and record when the
packets of each pass every device: in the kernel's tracepoints (BPF) as root, with
packet sockets otherwise. Print the path there and back, hop by hop, less the time
that the recording itself takes (docs/trace.md).

With --ssh or --kube, trace networks that exist: with packet sockets where the user
on both machines is root or can use sudo without a question, otherwise with the
counters of the devices. Each machine's times are by its own clock.`,
		Example: `  sudo weir trace -n vxlan-overlay
  sudo weir trace -n host,bridge,vxlan-overlay -o path.svg
  weir trace -n relay --json
  weir trace --ssh a,b -n 'host,{use: via, dev: wg0}'`,
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if mode != "" && !slices.Contains(packettrace.Modes, mode) {
				return usage("--by: unknown mode %q: want one of %s", mode, strings.Join(packettrace.Modes, ", "))
			}
			if t.count < 1 || t.count > maxTraced {
				return usage("--count: %d requests: want 1 to %d", t.count, maxTraced)
			}
			if err := event.Within("--size", t.size, event.MinDatagram, event.MaxDatagram, "bytes"); err != nil {
				return usage("%w", err)
			}
			t.mode = mode
			s, err := machines.only(c, networks...)
			if err == nil && !s.Target.Exists() {
				if len(networks) == 0 {
					return usage("no network given: add -n %s", strings.Join(catalog.In(network.InLab), "|"))
				}
				s, err = tracedStudy(c, networks, nic)
			}
			if err != nil {
				return exit(exitUsage, err)
			}
			if s.Target.Exists() && mode == packettrace.ByBPF {
				return usage("--by bpf would record every packet of machines that are not weir's; use taps or counters")
			}
			if s.Target.InCluster() {
				return usage("--in-cluster is for weir run; leave it out, and weir traces from here")
			}
			if err := pictureFormat("", out); err != nil {
				return err
			}
			programs, err := machines.program()
			if err != nil {
				return err
			}
			if t.at, err = place.Of(s, programs, tell); err != nil {
				return err
			}
			return t.at.Enter(c.Context(), func() error {
				r := runner{at: t.at, study: s, byDefault: len(networks) == 0}
				if err := r.settle(); err != nil {
					return err
				}
				prepared, err := r.prepared()
				if err != nil {
					return err
				}
				if err := t.choose(); err != nil {
					return exit(exitEnvironment, err)
				}
				var all []packettrace.Trace
				for i, u := range r.study.Networks {
					one, err := t.network(c.Context(), u.Name, prepared.Networks[u.Name])
					if c.Context().Err() != nil {
						return context.Cause(c.Context())
					}
					if err != nil {
						return exit(exitEnvironment, fmt.Errorf("%s: %w", u.Name, err))
					}
					all = append(all, one)
					if asJSON {
						continue
					}
					if i > 0 {
						fmt.Println()
					}
					if err := one.Text(os.Stdout, language); err != nil {
						return err
					}
				}
				if out != "" {
					if err := drawTraces(out, all); err != nil {
						return exit(exitEnvironment, err)
					}
				}
				if asJSON {
					return printJSON(os.Stdout, all)
				}
				return nil
			})
		},
	}
	fl := c.Flags()
	fl.StringArrayVarP(&networks, "networks", "n", nil, "networks (weir list networks)")
	fl.IntVar(&t.size, "size", t.size, "bytes of a request and of its reply")
	fl.IntVar(&t.count, "count", t.count, "requests to trace")
	fl.StringVar(&mode, "by", "", "bpf, taps or counters (default: the best that this process can use, see weir doctor)")
	fl.StringVarP(&out, "output", "o", "", "file for the picture, .svg; with several networks, each has its name added")
	fl.BoolVar(&asJSON, "json", false, "print machine-readable output")
	fl.StringVar(&nic, "nic", "", "segmentation by the hosts' NICs: full, tso (not in tunnels) or none")
	bound := bind(&study.Study{})
	for _, name := range ofTopology {
		fl.AddFlag(bound.Lookup(name))
	}
	machines.register(c)
	_ = c.RegisterFlagCompletionFunc("networks", complete(catalog.In(network.InLab)))
	return c
}

// tracedStudy returns a study of the networks that the flags describe.
func tracedStudy(c *cobra.Command, networks []string, nic string) (study.Study, error) {
	s, err := shippedStudy(defaultStudy)
	if err == nil {
		s.Networks, err = uses(networks)
	}
	if err == nil {
		s.Probes, err = uses([]string{"udp-rr"})
	}
	if err == nil {
		err = set(c, "nic", &s.Topology.NIC, nic, topo.ParseNIC)
	}
	if err != nil {
		return s, err
	}
	s.Baseline, s.Compare = "", nil
	given(c, &s)
	s = s.Resolve()
	return s, s.Validate()
}

// drawTraces writes the pictures that there are.
func drawTraces(file string, all []packettrace.Trace) error {
	for _, t := range all {
		if len(t.Request.Hops) == 0 {
			note(lang.T("no picture of %s: counters show no times", t.Network))
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

// sharedTap is the tap of a machine that others use.
var sharedTap = []string{"tap", "--shared"}

// tapCommand runs in a node.
func tapCommand() *cobra.Command {
	var shared bool
	c := &cobra.Command{
		Use:    "tap",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			err := packettrace.Tap(os.Stdin, os.Stdout, shared)
			if err != nil && shared {
				err = local.AsRoot(err, sharedTap...)
			}
			return exit(exitEnvironment, err)
		},
	}
	c.Flags().BoolVar(&shared, "shared", false, "keep only packets of the engine")
	return c
}

// checkTrace is the line of `weir doctor` about traces.
func checkTrace() diagnosis {
	mode, why := packettrace.Available()
	c := facts.Check{Name: "packet trace", OK: mode == packettrace.ByBPF, Detail: "tracepoints by BPF: every hop, and the reasons of drops"}
	if !c.OK {
		c.Detail = fmt.Sprintf("by %s only: %v", mode, cmp.Or(why, packettrace.ErrRefused))
		c.Fix = "sudo weir trace, on a kernel with BTF (CONFIG_DEBUG_INFO_BTF)"
	}
	return diagnosis{Check: c}
}
