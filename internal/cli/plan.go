package cli

import (
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/unit"
)

// topologyFlags choose one network and its hosts.
type topologyFlags struct {
	network string
	spec    topo.Spec
	link    string
	nic     string
}

func (t *topologyFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&t.network, "network", "n", "", "network: "+strings.Join(catalog.Names(catalog.Networks), ", "))
	f.IntVar(&t.spec.Hosts, "hosts", 0, "number of hosts (default 2, or fewer if the network takes fewer)")
	f.IntVar(&t.spec.Pods, "pods", 0, "pods per host (default 1, or 2 on a single host)")
	f.IntVar(&t.spec.MTU, "mtu", 1500, "MTU of the underlay, bytes")
	f.StringVar(&t.link, "link", "", "rate of every host's link, such as 1gbit (default unlimited)")
	f.StringVar(&t.nic, "nic", "full", "segmentation by the hosts' NICs: full, tso (not in tunnels) or none")
	f.BoolVar(&t.spec.IPv6, "ipv6", false, "IPv6 underlay")
	f.BoolVar(&t.spec.PodsIPv6, "pods-ipv6", false, "IPv6 pods")
	_ = c.RegisterFlagCompletionFunc("network", complete(catalog.Names(catalog.Networks)))
}

// args returns the flags for another process.
func (t *topologyFlags) args() []string {
	a := []string{"-n", t.network, "--mtu", strconv.Itoa(t.spec.MTU), "--hosts", strconv.Itoa(t.spec.Hosts), "--pods", strconv.Itoa(t.spec.Pods), "--nic", t.nic}
	if t.link != "" {
		a = append(a, "--link", t.link)
	}
	if t.spec.IPv6 {
		a = append(a, "--ipv6")
	}
	if t.spec.PodsIPv6 {
		a = append(a, "--pods-ipv6")
	}
	return a
}

// build returns the topology and the whole plan. Its errors are usage errors.
func (t *topologyFlags) build() (topo.Topology, plan.Plan, error) {
	if t.network == "" {
		return topo.Topology{}, plan.Plan{}, usage("no network given: add -n %s", strings.Join(catalog.Names(catalog.Networks), "|"))
	}
	entry, err := catalog.FindNetwork(t.network)
	if err != nil {
		return topo.Topology{}, plan.Plan{}, exit(exitUsage, err)
	}
	if t.link != "" {
		if t.spec.Rate, err = unit.ParseRate(t.link); err != nil {
			return topo.Topology{}, plan.Plan{}, usage("--link: %w", err)
		}
	}
	if t.spec.NIC, err = topo.ParseNIC(t.nic); err != nil {
		return topo.Topology{}, plan.Plan{}, usage("--nic: %w", err)
	}
	t.spec.Kernel = thisMachine.kernel()
	driver := entry.New()
	topology, err := topo.New(entry.Spec(driver, t.spec))
	if err != nil {
		return topo.Topology{}, plan.Plan{}, exit(exitUsage, err)
	}
	p, err := network.Build(driver, topology)
	return topology, p, exit(exitUsage, err)
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
