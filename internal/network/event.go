package network

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// eventKinds are the kinds of steps of an event: they change settings of places that weir made, or services of the plan.
var eventKinds = append(slices.Clone(alsoKinds), "announce", "command", "daemon", "drop", "endpoint", "fdb", "flush", "reload")

// Happening returns e with the steps that undo it. An error says why it cannot happen in the network of p.
func Happening(t topo.Topology, p plan.Plan, e plan.Event) (plan.Event, error) {
	for i, s := range slices.Concat(e.Do, e.Undo) {
		var err error
		if t.Exists && i >= len(e.Do) && s.Device() != "" {
			err = errors.New("leave it out: the machine itself restores the device")
		} else if t.Exists {
			err = checkFound(t.Find.Kind, s)
		} else if s.Policy != nil {
			err = errors.New("policy: no agent in the lab enforces policies: measure a cluster (--kube, networks pod, service and nodeport), or change rules of nft (exec), as the study downtime-policy does")
		} else {
			err = cmp.Or(checkStep(t, p, s, eventKinds), checkHappening(t, p, s))
		}
		switch n := i - len(e.Do); {
		case err != nil && n < 0:
			return e, fmt.Errorf("event %s: do: step %d: %w", e.Name, i+1, err)
		case err != nil:
			return e, fmt.Errorf("event %s: undo: step %d: %w", e.Name, n+1, err)
		}
	}
	for _, d := range e.Over {
		if err := checkOver(t, p, d); err != nil {
			return e, fmt.Errorf("event %s: over: %w", e.Name, err)
		}
	}
	if !t.Exists { // a machine that exists knows its device
		e.Do, e.Undo = sized(t, e.Do), sized(t, e.Undo)
	}
	if len(e.Undo) > 0 {
		return e, nil
	}
	inverse := p.Inverse
	if t.Exists {
		inverse = p.Restores
	}
	var err error
	if e.Undo, err = inverse(e.Do); err != nil {
		return e, fmt.Errorf("event %s: %w", e.Name, err)
	}
	return e, nil
}

// checkOver returns an error for a device that the place certainly lacks: a daemon can make others than those of the plan.
func checkOver(t topo.Topology, p plan.Plan, d plan.Device) error {
	names, places := p.Names(d.In), Places(t)
	if t.Exists {
		places = []string{plan.Client, plan.Server}
	}
	_, ok := names.Devices[d.Dev]
	switch {
	case !slices.Contains(places, d.In):
		return fmt.Errorf("unknown place %q: have %s", d.In, strings.Join(places, ", "))
	case !ok && !t.Exists && len(names.Daemons) == 0:
		return fmt.Errorf("no device %q in %s: have %s", d.Dev, d.In, strings.Join(names.DeviceNames(), ", "))
	}
	return nil
}

// foundKinds are the kinds of steps of an event in a cluster: they change objects that weir has made there, and restart daemons that the
// user names.
var foundKinds = []string{"daemon", "endpoint", "policy"}

// checkFound returns an error for a step that could touch what weir has not made, in a network of a kind that exists. What a
// command does is its user's.
func checkFound(kind topo.Kind, s plan.Step) error {
	wrong, hosts := checkKind(s, foundKinds), kind == topo.Hosts || kind == topo.Via
	switch {
	case hosts && s.Command != nil:
		return checkFoundCommand(s)
	case hosts && s.Device() != "":
		return checkFoundDevice(s)
	case hosts:
		return errors.New("on machines that it finds, weir changes only devices that you allow (set, addr, rate, drop, and route with dev; --allow); let a command of yours do it (command), measure in the lab (without --ssh or --kube), or, in a cluster, in the networks pod, service and nodeport")
	case wrong != nil:
		return fmt.Errorf("weir changes only what it has made in a cluster: %w", wrong)
	case s.Daemon != nil:
		return checkFoundDaemon(s)
	case s.In != plan.Server:
		return fmt.Errorf("unknown place %q: in a cluster, events happen to the server's pod; write in: %s", s.In, plan.Server)
	case s.Endpoint != nil && kind == topo.PodNet:
		return errors.New("endpoint: clients call the pod itself, not a Service; use the network service or nodeport")
	case s.Endpoint != nil && s.Endpoint.Service != "":
		return errors.New("endpoint: in a cluster, the Service is that of the server's pod; leave out service")
	case s.Policy != nil:
		return checkOneOf("policy", "deny", s.Policy.Deny, plan.Ingress)
	}
	return nil
}

// checkFoundCommand returns an error unless the machine of an end can run the command, and undo it by itself.
func checkFoundCommand(s plan.Step) error {
	switch {
	case s.In != plan.Client && s.In != plan.Server:
		return fmt.Errorf("unknown place %q: commands run on the machine of an end; write in: %s or in: %s", s.In, plan.Client, plan.Server)
	case len(s.Command.Undo) == 0:
		return errors.New("command: on another machine, each command says itself what undoes it (undo: [PROGRAM, ARGUMENT…] in the command, or undo: [\"true\"]), so that the machine can do so when the connection is lost")
	}
	return checkCommand(*s.Command)
}

// checkFoundDaemon returns an error unless a cluster can restart the daemon, and does so by itself.
func checkFoundDaemon(s plan.Step) error {
	switch {
	case s.In != plan.Client && s.In != plan.Server:
		return fmt.Errorf("unknown place %q: a daemon is restarted on the node of an end; write in: %s or in: %s", s.In, plan.Client, plan.Server)
	case s.Daemon.Do != plan.Terminate && s.Daemon.Do != plan.Start:
		return fmt.Errorf("daemon: do: %q: in a cluster, want %s: the cluster starts it again", s.Daemon.Do, plan.Terminate)
	}
	return nil
}

// checkFoundDevice returns an error unless the machine of an end can change the device, and restore it.
func checkFoundDevice(s plan.Step) error {
	switch err := checkKind(s, []string{"addr", "drop", "rate", "route", "set"}); {
	case err != nil:
		return err
	case s.In != plan.Client && s.In != plan.Server:
		return fmt.Errorf("unknown place %q: an event changes devices on the machine of an end; write in: %s or in: %s", s.In, plan.Client, plan.Server)
	case s.Set != nil && s.Set.Master != "":
		return errors.New("set: weir moves no device of a machine that it finds to another bridge; let a command of yours do it (command)")
	}
	switch {
	case s.Rate != nil && s.Rate.Rate <= 0:
		return fmt.Errorf("rate: %g bit/s: want more than 0; weir ends the limit with the event", s.Rate.Rate)
	case s.Drop != nil && s.Drop.Gone:
		return errors.New("drop: leave out gone: weir stops dropping when the event ends")
	case s.Drop != nil:
		return checkDrop(*s.Drop)
	}
	return checkSet(s)
}

// deviceName matches what nft(8) reads as the name of a device.
var deviceName = regexp.MustCompile(`^[^\s/"\\]{1,15}$`)

func checkDrop(d plan.Drop) error {
	if !deviceName.MatchString(d.Dev) {
		return fmt.Errorf("drop: invalid device %q: want its name, such as eth0", d.Dev)
	}
	return nil
}

// checkHappening checks the kinds that only events have.
func checkHappening(t topo.Topology, p plan.Plan, s plan.Step) error {
	switch {
	case s.Daemon != nil:
		return checkDaemon(p, s)
	case s.Endpoint != nil:
		return checkEndpoint(t, p, s)
	case s.Command != nil:
		return checkCommand(*s.Command)
	case s.Drop != nil && inGuest(p, s.In):
		return fmt.Errorf("%s is in a virtual machine, where weir runs no nft, which drop needs; name a place outside", s.In)
	case s.Drop != nil:
		return checkDrop(*s.Drop)
	case s.Announce != nil && !s.Announce.Addr.Is4():
		return fmt.Errorf("announce: %v is not an IPv4 address, and ARP announces only those", s.Announce.Addr)
	case s.Flush != nil:
		return checkOneOf("flush", "table", s.Flush.Table, plan.Conntrack)
	case s.Reload != nil:
		return checkOneOf("reload", "rules", s.Reload.Rules, plan.NFT, plan.IPTables)
	}
	return nil
}

// checkEndpoint returns an error unless the place has the stand-in for an API server, and the pod has a Service.
func checkEndpoint(t topo.Topology, p plan.Plan, s plan.Step) error {
	var there, pods []string
	for _, x := range p.Steps {
		if x.Service != nil && x.Service.Name == kubeAPIService {
			there = append(there, x.In)
		}
	}
	for _, e := range podEnds(t, podDev) {
		pods = append(pods, e.Node)
	}
	switch {
	case !slices.Contains(there, s.In):
		return fmt.Errorf("nothing in %s tells a kube-proxy of endpoints: in the networks kube-proxy-iptables, kube-proxy-nftables and kube-proxy-ipvs, %s does", s.In, t.Hosts[0].Name)
	case !slices.Contains(pods, s.Endpoint.Service):
		return fmt.Errorf("no service %q that anyone calls: have %q", s.Endpoint.Service, pods)
	}
	return nil
}

// checkCommand returns an error for a command that cannot run or be undone in time.
func checkCommand(c plan.Command) error {
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return errors.New("command: no program; want argv: [PROGRAM, ARGUMENT…]")
	case c.Timeout < 0 || c.Timeout > plan.MaxCommandTime:
		return fmt.Errorf("command: timeout %d: want 1 to %d seconds; 0 is %d", c.Timeout, plan.MaxCommandTime, plan.CommandTime)
	}
	return nil
}

// checkDaemon returns an error unless the service is one of p, and the event can be done to it.
func checkDaemon(p plan.Plan, s plan.Step) error {
	var there []string
	for _, x := range p.Steps {
		if x.Service != nil && x.In == s.In {
			there = append(there, x.Service.Name)
		}
	}
	switch does := []string{plan.Kill, plan.Terminate, plan.Stop, plan.Continue, plan.Start}; {
	case !slices.Contains(there, s.Daemon.Name):
		return fmt.Errorf("no daemon %q in %s: have %q", s.Daemon.Name, s.In, there)
	case !slices.Contains(does, s.Daemon.Do):
		return fmt.Errorf("a daemon cannot %q: want one of %q", s.Daemon.Do, does)
	}
	return nil
}
