package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
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
	if c.Flags().Changed("hosts") {
		err = checkHosts(s)
	}
	if err != nil {
		return on, p, err
	}
	return job.Plan(s)
}

// planFlags say which part of a study to print, and how.
type planFlags struct {
	study                  studyFlags
	json, asDiagram, names bool
}

func planCommand() *cobra.Command {
	f := new(planFlags)
	c := &cobra.Command{
		Use:   "plan [STUDY]",
		Short: "Print the steps that build the networks of a study, without running them",
		Long: `Print how weir builds the networks of a study, which the arguments name as those of
weir run do: as ip(8), bridge(8) and tc(8) commands to type as root. Each network has
hosts of its own. After each network come the changes that a factor makes before a
trial, and that weir undoes after it.

With --json, print the data that weir applies, one step per line, and what it expects
of the result; with --diagram, a Mermaid diagram (mermaid.js.org) of the path of a
packet; with --names, the places, devices, addresses and daemons that an event of a
study can name (docs/downtime.md). Each of these prints one network.

With --kube, print the manifests of what a run creates in the cluster, for kubectl
apply --dry-run=server -f -; the cluster is asked only for its nodes, and only if
--nodes does not name them. With --ssh, print what a run does on the machines,
without connecting to them; weir doctor connects.`,
		Example: `  weir plan -n vxlan-overlay
  weir plan -n vxlan-overlay --hosts 3 --ipv6 --json
  weir plan -n host,bridge -f mtu=1500,9000
  weir plan policy-rules
  weir plan -n flannel-vxlan --names
  weir plan --ssh a,b
  weir plan --kube -N bench | kubectl apply -n bench --dry-run=server -f -`,
		Args:              oneStudy,
		ValidArgsFunction: complete(job.StudyNames()),
		RunE:              func(c *cobra.Command, as []string) error { return f.print(c, as) },
	}
	f.study.register(c)
	c.Flags().BoolVar(&f.json, "json", false, "print machine-readable steps instead of commands")
	c.Flags().BoolVar(&f.asDiagram, "diagram", false, "print the path of a packet as a Mermaid flow chart")
	c.Flags().BoolVar(&f.names, "names", false, "print the places, devices, addresses and daemons that events can name")
	return headings(c, studyHeadings, []string{"networks", "factor", "hosts", "ssh", "kube", "json", "diagram", "names"})
}

func (f *planFlags) print(c *cobra.Command, as []string) error {
	switch {
	case f.json && f.asDiagram:
		return usage("--json and --diagram cannot be combined; use one")
	case f.names && (f.json || f.asDiagram):
		return usage("--names cannot be combined with --json and --diagram; use one")
	}
	s, err := f.study.study(c, as)
	if err != nil {
		return err
	}
	if s.Target.Exists() {
		if err := place.Check(s); err != nil {
			return failure.Usage.Of(err)
		}
		return planMachines(c.Context(), s, f.json, f.asDiagram, f.names)
	}
	if len(s.Networks) == 1 && c.Flags().Changed("hosts") {
		if err := checkHosts(s); err != nil {
			return err
		}
	}
	all, err := job.Plans(s)
	if err != nil {
		return err
	}
	if f.json || f.asDiagram || f.names {
		if len(all) > 1 || len(all[0].Changes) > 0 {
			return usage("--json, --diagram and --names print one network under one condition; name it with -n, and leave out factors that change it")
		}
		return f.printOne(all[0])
	}
	return printPlans(os.Stdout, all)
}

// checkHosts refuses more hosts than the only network of s has.
func checkHosts(s study.Study) error {
	kind := s.Networks[0].Kind
	if most := catalog.Networks[kind].Hosts; most > 0 && s.Topology.Hosts > most {
		return usage("--hosts %d: %s has at most %d", s.Topology.Hosts, kind, most)
	}
	return nil
}

func (f *planFlags) printOne(one job.Planned) error {
	switch {
	case f.json:
		return one.Plan.Encode(os.Stdout)
	case f.names:
		return printNames(one.Plan, network.Places(one.On))
	}
	from, to, err := one.Plan.Between("")
	if err != nil {
		return failure.Usage.Of(err)
	}
	return one.Plan.Mermaid(os.Stdout, from, to)
}

// printPlans prints commands, under a title for each network and each condition if there are several.
func printPlans(w io.Writer, all []job.Planned) error {
	for i, p := range all {
		title := p.Network
		if len(p.Built) > 0 {
			title += ", " + levels(p.Built)
		}
		switch {
		case i > 0:
			fmt.Fprintf(w, "\n# %s\n", title)
		case len(all) > 1 || len(p.Changes) > 0:
			fmt.Fprintf(w, "# %s\n", title)
		}
		if err := p.Plan.Shell(w, network.Places(p.On)); err != nil {
			return err
		}
		for _, change := range p.Changes {
			if change.Err != nil {
				fmt.Fprintf(w, "\n# %s\n", said(lang.T("%s: trials with %s are skipped: %v", p.Network, levels(change.Levels), change.Err)))
				continue
			}
			fmt.Fprintf(w, "\n# %s\n", said(lang.T("%s: before a trial with %s", p.Network, levels(change.Levels))))
			if err := (plan.Plan{Steps: change.Do}).Shell(w, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// levels writes levels as -f does.
func levels(of map[string]string) string {
	var out []string
	for _, factor := range slices.Sorted(maps.Keys(of)) {
		out = append(out, factor+"="+of[factor])
	}
	return strings.Join(out, " ")
}

// printNames prints what the steps of an event can name in a network: one line per device, and the daemons of its place.
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

// planMachines prints what a run does on existing machines. It changes none of them.
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
