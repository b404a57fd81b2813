package job

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/trial"
)

// DoctorMachines checks the machines of a study's target by connecting to them and opening each of the study's
// networks.
func DoctorMachines(ctx context.Context, at place.Place, s study.Study) (ds []Diagnosis, err error) {
	if c, ok := at.Machines.(place.Cluster); ok {
		for _, check := range c.Check(ctx) {
			ds = append(ds, Diagnosis{check, check.Name != hostNetwork})
		}
		if last := ds[len(ds)-1]; last.Needed && !last.OK {
			return ds, context.Cause(ctx) // a check that a signal ended says nothing about what is missing
		}
	}
	connected := false
	failed := at.Enter(ctx, func() error {
		connected = true
		s, err := at.Settle(s, true)
		if err != nil {
			return err
		}
		ds = append(ds, Diagnosis{facts.Check{Name: "connection", OK: true, Detail: "to " + strings.Join(at.Machines.Names(), ", ")}, true})
		more, err := examine(ctx, at, s)
		ds = append(ds, more...)
		return err
	})
	if !connected && failure.Status(failed) == int(failure.Environment) {
		return append(ds, Diagnosis{facts.Check{Name: "connection", Detail: failed.Error()}, true}), nil
	}
	return ds, failed
}

// hostNetwork is a check of a cluster. If it fails, pods can be measured, but not the baseline.
const hostNetwork = "host network"

// examine opens every network of the study and describes its machines, each once.
func examine(ctx context.Context, at place.Place, s study.Study) (ds []Diagnosis, err error) {
	prepared, err := at.Prepare(s)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	opened := false
	for _, u := range s.Networks {
		c := facts.Check{Name: "network " + u.Name}
		site, err := at.Open(ctx, prepared.Networks[u.Name].Topology, "")
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			c.Detail = err.Error()
			ds = append(ds, Diagnosis{Check: c})
			continue
		}
		opened, c.OK, c.Detail = true, true, addresses(site)
		if size, err := prove(ctx, prepared.Networks[u.Name], site); err != nil {
			c.OK, c.Detail = false, c.Detail+"; "+err.Error()
		} else {
			c.Detail += fmt.Sprintf("; packets of %d bytes pass in both directions", size)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		ds = append(ds, Diagnosis{Check: c})
		for _, name := range slices.Sorted(maps.Keys(site.Nodes)) {
			n := site.Nodes[name]
			if h := n.Host(); !seen[h.ID+name] {
				seen[h.ID+name] = true
				ds = append(ds, examineNode(ctx, n, !seen[h.ID])...)
				seen[h.ID] = true
			}
		}
		if err := site.Close(); err != nil {
			return nil, failure.Environment.Of(err)
		}
	}
	if !opened {
		ds = append(ds, Diagnosis{facts.Check{Name: "networks", Detail: "none of " + strings.Join(study.Names(s.Networks), ", ") + " can be measured"}, true})
	}
	return ds, nil
}

// proveTime bounds the time to wait for the first packet of a network.
const proveTime = 5 * time.Second

// prove sends packets over a network, as a run does before its first trial. It returns their size.
func prove(ctx context.Context, n experiment.Network, site *target.Site) (size int, err error) {
	p, err := network.Build(n.Driver, site.Topology)
	if err != nil {
		return 0, err
	}
	client, server, err := p.Between("")
	if err != nil {
		return 0, err
	}
	e, err := trial.StartEngines(ctx, site, client, server, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = e.Stop() }() // the path is what counts
	size = p.On(client, server).Path.Reach()
	_, err = e.Reach(ctx, size, proveTime)
	return size, err
}

// addresses lists what a network would be measured between.
func addresses(site *target.Site) string {
	var all []string
	for _, h := range site.Topology.Hosts {
		if h.Addr.IsValid() {
			all = append(all, fmt.Sprintf("%s %v on %s", h.Name, h.Addr.Addr(), h.Dev))
		}
		for _, p := range h.Pods {
			one := fmt.Sprintf("%s %v on %s", p.Name, p.Addr.Addr(), h.Name)
			if p.Call.IsValid() {
				one += fmt.Sprintf(", called as %v", p.Call)
			}
			all = append(all, one)
		}
	}
	return fmt.Sprintf("%s; MTU %d", strings.Join(all, "; "), site.Topology.MTU)
}

// examineNode describes a node and, if its machine is new, the machine.
func examineNode(ctx context.Context, n target.Node, machine bool) (ds []Diagnosis) {
	h := n.Host()
	add := func(name string, c facts.Check) {
		c.Name = n.Name() + ": " + name
		ds = append(ds, Diagnosis{Check: c})
	}
	if machine {
		f, err := h.Facts(ctx)
		if err != nil {
			add("facts", facts.Check{Detail: err.Error()})
			return ds
		}
		add("machine", facts.Check{OK: true, Detail: fmt.Sprintf("Linux %s, %s, %d × %s, %s", f.Kernel, f.Machine, f.CPUs, cmp.Or(f.CPU, "CPU"), cmp.Or(f.Distribution, "unknown distribution"))})
		for _, c := range facts.Quiet(h.FS, f) {
			add(c.Name, c)
		}
	}
	add("packet trace", helps(tryHelper(ctx, n, sharedTap...), "packet sockets: which devices packets pass, and when", "weir trace shows counters only, neither the order nor the time of hops"))
	add("profile", helps(tryHelper(ctx, n, samplerHelper), "weir run --profile samples the kernel's functions", "no CPU time by layer of the kernel"))
	add("devices", devices(ctx, n))
	add("congestion control", congestion(n))
	add("ping", ping(ctx, n))
	add("tools", tools(ctx, h))
	return ds
}

// helps is the check of a helper that needs root: what it shows, or why not and what is lost.
func helps(refused error, shows, lost string) facts.Check {
	if refused == nil {
		return facts.Check{OK: true, Detail: shows}
	}
	return facts.Check{Detail: fmt.Sprintf("%v: %s", refused, lost), Fix: "log in as root, or allow sudo without a password"}
}

// devices lists the devices of a node that have addresses.
func devices(ctx context.Context, n target.Node) facts.Check {
	lister, ok := n.(remote.LinkLister)
	if !ok {
		return facts.Check{Detail: "unknown"}
	}
	links, err := lister.Links(ctx)
	if err != nil {
		return facts.Check{Detail: err.Error()}
	}
	var all []string
	for _, l := range links {
		if len(l.Addrs) > 0 && l.Name != "lo" {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %v MTU %d %s", l.Name, l.Addrs[0], l.MTU, l.Kind)))
		}
	}
	return facts.Check{OK: len(all) > 0, Detail: strings.Join(all, ", "), Fix: "give the machine an address"}
}

// congestion lists what tcp-stream can ask for with the option cc. A pod without CAP_NET_ADMIN can choose
// only from the allowed ones (net/ipv4/tcp_cong.c, tcp_set_congestion_control).
func congestion(n target.Node) facts.Check {
	read := func(key string) string {
		b, _ := fs.ReadFile(n.FS(), "proc/sys/net/ipv4/"+key) // absent in some sandboxes
		return strings.TrimSpace(string(b))
	}
	now, allowed := read("tcp_congestion_control"), read("tcp_allowed_congestion_control")
	if now == "" {
		return facts.Check{Detail: "unknown: the node has no net.ipv4.tcp_congestion_control"}
	}
	return facts.Check{OK: true, Detail: fmt.Sprintf("%s; allowed: %s", now, allowed)}
}

// ping checks whether ping(8) exists and can open its socket.
func ping(ctx context.Context, n target.Node) facts.Check {
	var said strings.Builder // ping: socktype: SOCK_RAW: Operation not permitted
	if err := n.Run(ctx, target.Cmd{Argv: []string{"ping", "-n", "-c", "1", "-W", "1", "127.0.0.1"}, Stdout: io.Discard, Stderr: &said}); err != nil {
		return facts.Check{Detail: strings.TrimSpace(fmt.Sprintf("%v %s", err, strings.TrimSpace(said.String()))),
			Fix: "for the probe ping only: install iputils-ping; it needs CAP_NET_RAW, or the group in net.ipv4.ping_group_range"}
	}
	return facts.Check{OK: true, Detail: "works"}
}

// tools lists the programs of probes that a machine has.
func tools(ctx context.Context, h *target.Host) facts.Check {
	var have, lack []string
	for _, tool := range catalog.ProbeTools() {
		path, version, _ := h.Tool(ctx, tool)
		if path == "" {
			lack = append(lack, tool.Program)
			continue
		}
		have = append(have, strings.TrimSpace(tool.Program+" "+version))
	}
	if have == nil {
		have = []string{"none"}
	}
	c := facts.Check{OK: true, Detail: strings.Join(have, ", ")}
	if lack != nil {
		c.Detail += "; not found: " + strings.Join(lack, ", ") + " (native probes need none)"
	}
	return c
}
