package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/topo"
)

// labFlags describe networks that weir builds, with the names and the defaults that a study has.
type labFlags struct{ nic, loss string }

// ofTopology lists the flags of a study's topology.
var ofTopology = []string{"hosts", "pods", "mtu", "link", "delay", "jitter", "ipv6", "pods-ipv6"}

func (f *labFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.nic, "nic", "", "segmentation by the hosts' NICs: full, tso (not in tunnels) or none")
	bound := bind(&study.Study{Topology: study.Default().Topology})
	for _, name := range ofTopology {
		c.Flags().AddFlag(bound.Lookup(name))
	}
}

// study returns a study of networks in the lab.
func (f *labFlags) study(c *cobra.Command, networks ...string) (study.Study, error) {
	s, err := claim.ShippedStudy(defaultStudy)
	if err == nil {
		s.Networks, err = uses(networks)
	}
	if err == nil {
		s.Probes, err = uses([]string{"udp-rr"})
	}
	if err == nil {
		err = errors.Join(set(c, "nic", &s.Topology.NIC, f.nic, topo.ParseNIC), set(c, "loss", &s.Topology.Distance.Loss, f.loss, share))
	}
	if err != nil {
		return s, failure.Usage.Of(err)
	}
	s.Baseline, s.Compare = "", nil
	given(c, &s)
	s = s.Resolve()
	return s, failure.Usage.Of(s.Validate())
}

// oneNetwork names one network that weir builds.
type oneNetwork struct {
	labFlags
	network string
}

func (f *oneNetwork) register(c *cobra.Command) {
	c.Flags().StringVarP(&f.network, "network", "n", "", "network: a name, or {use: NAME, OPTION: VALUE…}; "+strings.Join(catalog.In(network.InLab), ", "))
	c.Flags().StringVar(&f.loss, "loss", "", "share of packets between hosts that is lost, each way, such as 0.1%")
	f.labFlags.register(c)
	_ = c.RegisterFlagCompletionFunc("network", complete(catalog.In(network.InLab)))
}

var errNoNetwork = usage("no network given: add -n NAME, such as -n vxlan-overlay; weir list networks lists all")

// build returns the topology and the whole plan. Its errors are usage errors.
func (f *oneNetwork) build(c *cobra.Command) (on topo.Topology, p plan.Plan, err error) {
	if f.network == "" {
		return on, p, errNoNetwork
	}
	if !strings.HasPrefix(f.network, "{") && strings.Contains(f.network, ",") {
		return on, p, usage("--network takes one network, not %q", f.network)
	}
	s, err := f.study(c, f.network)
	if err != nil {
		return on, p, err
	}
	kind := s.Networks[0].Kind
	if most := catalog.Networks[kind].Hosts; most > 0 && c.Flags().Changed("hosts") && s.Topology.Hosts > most {
		return on, p, usage("--hosts %d: %s has at most %d", s.Topology.Hosts, kind, most)
	}
	return job.Plan(s)
}

func planCommand() *cobra.Command {
	var t oneNetwork
	var machines targetFlags
	var asJSON, asDiagram, names bool
	c := &cobra.Command{
		Use:   "plan -n NETWORK",
		Short: "Print the steps that build a network, without running them",
		Long: `Print how weir builds a network: as ip(8), bridge(8) and tc(8) commands to type as
root; with --json, as the data that weir applies, one step per line, and what it
expects of the result; with --diagram, as a Mermaid diagram (mermaid.js.org) of the
path of a packet. With --names, print the places, devices, addresses and daemons that
an event of a study can name (docs/downtime.md).

With --kube, print the manifests of what a run creates in the cluster, for kubectl
apply --dry-run=server -f -; the cluster is asked only for its nodes, and only if
--nodes does not name them. With --ssh, print what a run does on the machines,
without connecting to them; weir doctor connects.`,
		Example: `  weir plan -n vxlan-overlay
  weir plan -n vxlan-overlay --hosts 3 --ipv6 --json
  weir plan -n flannel-vxlan --names
  weir plan --ssh a,b
  weir plan --kube -N bench | kubectl apply -n bench --dry-run=server -f -`,
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case asJSON && asDiagram:
				return usage("--json and --diagram cannot be combined; use one")
			case names && (asJSON || asDiagram):
				return usage("--names cannot be combined with --json and --diagram; use one")
			}
			var networks []string
			if t.network != "" {
				networks = []string{t.network}
			}
			s, err := machines.only(c, networks...)
			if err != nil {
				return err
			}
			if s.Target.Exists() {
				return planMachines(c.Context(), s, asJSON, asDiagram, names)
			}
			topology, p, err := t.build(c)
			switch {
			case err != nil:
				return err
			case names:
				return printNames(p, network.Places(topology))
			case asDiagram:
				from, to, err := p.Between("")
				if err != nil {
					return failure.Usage.Of(err)
				}
				return p.Mermaid(os.Stdout, from, to)
			case asJSON:
				return p.Encode(os.Stdout)
			}
			return p.Shell(os.Stdout, network.Places(topology))
		},
	}
	t.register(c)
	machines.register(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print machine-readable steps instead of commands")
	c.Flags().BoolVar(&asDiagram, "diagram", false, "print the path of a packet as a Mermaid flow chart")
	c.Flags().BoolVar(&names, "names", false, "print the places, devices, addresses and daemons that events can name")
	return c
}

// printNames prints what the steps of an event can name in a network: one line a device, and the daemons of its place.
func printNames(p plan.Plan, places []string) error {
	rows := [][]lang.Text{{lang.T("place"), lang.T("device"), lang.T("addresses"), lang.T("daemons")}}
	for _, in := range places {
		n := p.Names(in)
		daemons := strings.Join(n.Daemons, ", ")
		for _, dev := range n.DeviceNames() {
			var addrs []string
			for _, a := range n.Devices[dev] {
				addrs = append(addrs, a.String())
			}
			rows = append(rows, []lang.Text{lang.Text(in), lang.Text(dev), lang.Text(strings.Join(addrs, ", ")), lang.Text(daemons)})
			daemons = ""
		}
	}
	return printColumns(os.Stdout, rows)
}

// planMachines prints what a run does on machines that exist. It changes none of them.
func planMachines(ctx context.Context, s study.Study, asJSON, asDiagram, names bool) error {
	switch {
	case names:
		return usage("--names lists what weir makes; on machines and in clusters, the steps of an event name client and server (docs/downtime.md): leave it out with --ssh and --kube")
	case asDiagram:
		return usage("--diagram draws a network that weir builds; leave it out with --ssh and --kube, whose paths are unknown")
	case s.Target.Kube != nil && asJSON:
		return usage("--json: a cluster's plan is manifests; leave it out, or convert them: … | kubectl create --dry-run=client -o json -f -")
	case s.Target.Kube != nil:
		return printManifests(ctx, s)
	}
	p, err := job.PlanMachines(s)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(os.Stdout, p)
	}
	var rows [][]lang.Text
	for _, m := range s.Target.SSH {
		name, addr, _ := strings.Cut(m, "=")
		at := lang.T("measured at %s", addr)
		if addr == "" {
			at = lang.T("measured at the address that ssh reaches, or that it calls the others from")
		}
		rows = append(rows, []lang.Text{lang.T("machine"), lang.Text(name), at})
	}
	rows = append(rows, []lang.Text{lang.T("ports"), lang.Text(fmt.Sprintf("%d-%d", p.Ports[0], p.Ports[1])),
		lang.T("TCP and UDP, on the measured addresses; the servers admit only clients that hold the run's token")})
	for _, u := range s.Networks {
		rows = append(rows, []lang.Text{lang.T("network"), lang.Text(u.String()), lang.Stored(catalog.Networks[u.Kind].About)})
	}
	return printColumns(os.Stdout, append(rows,
		[]lang.Text{lang.T("on every machine"), "ssh", lang.T("weir copies itself into a private directory, which it removes as it starts, and runs as the user of ssh")},
		[]lang.Text{lang.T("changes"), lang.T("none"), lang.T("no setting, device, address or route; weir and all that it started end with the connection")}))
}

// printManifests prints the objects that a run makes in a cluster. It asks the cluster which nodes it
// has, unless they are named.
func printManifests(ctx context.Context, s study.Study) error {
	at, err := place.Of(s, remote.Programs{}, tell)
	if err != nil {
		return err
	}
	write := func() error {
		b, err := job.Manifests(at, s)
		if err == nil {
			_, err = os.Stdout.Write(b)
		}
		return err
	}
	if s.Target.Hosts() > 0 {
		return write()
	}
	return at.Enter(ctx, write)
}
