package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/unit"
)

type topologyFlags struct {
	network string
	spec    topo.Spec
	link    string
	nic     string
	loss    string
}

func (t *topologyFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&t.network, "network", "n", "", "network: "+strings.Join(catalog.Names(catalog.Networks), ", "))
	f.IntVar(&t.spec.Hosts, "hosts", 0, "number of hosts (default 2, or fewer if the network takes fewer)")
	f.IntVar(&t.spec.Pods, "pods", 0, "pods per host (default 1, or 2 on a single host)")
	f.IntVar(&t.spec.MTU, "mtu", 1500, "MTU of the underlay, bytes")
	f.StringVar(&t.link, "link", "", "rate of every host's link, such as 1gbit (default unlimited)")
	f.DurationVar(&t.spec.Distance.Delay, "delay", 0, "delay of every packet between hosts, each way, such as 500us")
	f.DurationVar(&t.spec.Distance.Jitter, "jitter", 0, "how much the delay of single packets differs, such as 50us for ±50us")
	f.StringVar(&t.loss, "loss", "", "share of packets between hosts that is lost, each way, such as 0.1%")
	f.StringVar(&t.nic, "nic", "full", "segmentation by the hosts' NICs: full, tso (not in tunnels) or none")
	f.BoolVar(&t.spec.IPv6, "ipv6", false, "IPv6 underlay")
	f.BoolVar(&t.spec.PodsIPv6, "pods-ipv6", false, "IPv6 pods")
	_ = c.RegisterFlagCompletionFunc("network", complete(catalog.Names(catalog.Networks)))
}

// build returns the topology and the whole plan. Its errors are usage errors.
func (t *topologyFlags) build() (on topo.Topology, p plan.Plan, err error) {
	if t.network == "" {
		return on, p, usage("no network given: add -n %s", strings.Join(catalog.Names(catalog.Networks), "|"))
	}
	entry, err := catalog.FindNetwork(t.network)
	if err != nil {
		return on, p, exit(exitUsage, err)
	}
	if t.link != "" {
		if t.spec.Rate, err = unit.ParseRate(t.link); err != nil {
			return on, p, usage("--link: %w", err)
		}
	}
	if t.loss != "" {
		if t.spec.Distance.Loss, err = unit.ParsePercent(t.loss); err != nil {
			return on, p, usage("--loss: %w", err)
		}
	}
	if t.spec.NIC, err = topo.ParseNIC(t.nic); err != nil {
		return on, p, usage("--nic: %w", err)
	}
	t.spec.Kernel = thisMachine.kernel()
	driver := entry.New()
	if on, err = topo.New(entry.Spec(driver, t.spec)); err == nil {
		p, err = network.Build(driver, on)
	}
	return on, p, exit(exitUsage, err)
}

func planCommand() *cobra.Command {
	var t topologyFlags
	var asJSON, asDiagram bool
	c := &cobra.Command{
		Use:   "plan -n NETWORK",
		Short: "Print the steps that build a network, without running them",
		Long: `Print how weir builds a network: as ip(8), bridge(8) and tc(8) commands to type as
root; with --json, as the data that weir applies, one step per line, and what it
expects of the result; with --diagram, as a Mermaid diagram (mermaid.js.org) of the
path of a packet.`,
		Example: `  weir plan -n vxlan-overlay
  weir plan -n vxlan-overlay --hosts 3 --ipv6 --json`,
		Args: args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			topology, p, err := t.build()
			if err != nil {
				return err
			}
			switch {
			case asDiagram:
				from, to, err := p.Between("")
				if err != nil {
					return exit(exitUsage, err)
				}
				return p.Mermaid(os.Stdout, from, to)
			case asJSON:
				return p.Encode(os.Stdout)
			}
			return p.Shell(os.Stdout, network.Places(topology))
		},
	}
	t.register(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print machine-readable steps instead of commands")
	c.Flags().BoolVar(&asDiagram, "diagram", false, "print the path of a packet as a Mermaid flow chart")
	return c
}
