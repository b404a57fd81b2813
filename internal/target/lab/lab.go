// Package lab is the target on this machine: hosts and pods are network namespaces, and plans are
// applied through netlink messages and ethtool calls that the package builds itself. Only it imports
// the wgctrl packages. It decides nothing: a plan says what to build.
//
// It must run in a process that package rootless started, so that a mistake cannot reach the
// machine's own network.
package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/weir-bench/weir/internal/cgroup"
	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/target/vm"
	"github.com/weir-bench/weir/internal/topo"
)

// A lab is a set of places for plans to connect.
type lab struct {
	places   map[string]*place
	logs     string     // directory of the services' logs; "" is each place's own
	commands bool       // as in Target
	services []*service // in starting order
	undo     []func(context.Context) error
	found    map[string]string
	values   map[string]string         // replacements for names in braces
	keys     map[[2]string]wgtypes.Key // WireGuard keys by place and device
	ca       *authority                // nil until a file needs a certificate
	devices  int32                     // number of numbered devices (see number)
	delayBy  string                    // byNetem or byQueue, once a step has delayed a bridge's port
	dir      *os.File                  // shared by places without their own file tree; nil when the kernel is too old
}

// A place is one namespace: a host, a pod, or the switch between hosts.
type place struct {
	name  string
	ns    *netns.Namespace
	nl    *socket          // NETLINK_ROUTE: devices, addresses, routes, neighbors, queues
	eth   *local.Ethtool   // nil until a step needs it
	host  *hostns.Host     // the place's other namespaces; nil until a step needs them
	guest *vm.Node         // nil until a step makes the pod a virtual machine
	known map[string]int32 // device numbers by name
	sysfs *sysfs
	// programs is topo.Topology.Programs.
	programs string
}

// Target is this machine as a target.Target.
type Target struct {
	Commands bool // steps can run commands of the study, and programs where it says, which its user has allowed
}

// Open makes a namespace for each host and pod of want, and for the switch between hosts. Nothing
// connects them yet. Services log to the directory logs, or to the state directory of their place
// when logs is "".
func (t Target) Open(ctx context.Context, want topo.Topology, logs string) (*target.Site, error) {
	if want.Programs != "" {
		if !t.Commands {
			return nil, fmt.Errorf("programs of %s are not allowed: weir runs what a study chooses only where its user says so (weir run --allow-commands)", want.Programs)
		}
		if _, err := os.ReadDir(want.Programs); err != nil {
			return nil, fmt.Errorf("programs: %w", err)
		}
	}
	s, err := t.open(ctx, network.Places(want), logs)
	if err != nil {
		return nil, err
	}
	for _, n := range s.Nodes {
		n.(*place).programs = want.Programs
	}
	s.Topology = want
	return s, nil
}

// Open is Target.Open for places given by name.
func Open(ctx context.Context, names []string, logs string) (*target.Site, error) {
	return Target{}.open(ctx, names, logs)
}

func (t Target) open(ctx context.Context, names []string, logs string) (_ *target.Site, err error) {
	l := &lab{places: map[string]*place{}, logs: logs, commands: t.Commands, found: map[string]string{}, keys: map[[2]string]wgtypes.Key{},
		values: map[string]string{"dir": hostns.Dir, "cgroup": cgroup.Name(), "cpus": plan.Mask(allCPUs())}}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	for _, name := range names {
		if l.places[name] != nil {
			return nil, fmt.Errorf("lab: duplicate place %s", name)
		}
		l.places[name] = &place{name: name}
	}
	err = netns.Create(len(names), func(i int, ns *netns.Namespace) error {
		if err := l.places[names[i]].open(ns); err != nil {
			return fmt.Errorf("lab: create %s: %w", names[i], err)
		}
		return context.Cause(ctx)
	})
	if err != nil {
		return nil, err
	}
	if l.dir, err = newDir(); err != nil {
		return nil, fmt.Errorf("lab: directory of the nodes: %w", err)
	}
	s := &target.Site{Nodes: map[string]target.Node{}, Private: true, Apply: l.apply, Verify: l.verify, Shell: l.shell, Spaces: l.spaces, Clock: clock, Changes: l.changes, Delays: l.delays, Found: l.found, Close: l.close}
	for name, p := range l.places {
		s.Nodes[name] = p
	}
	return s, nil
}

// spaces returns the places by the inode of their network namespace, without guests.
func (l *lab) spaces() map[string]string {
	spaces := map[string]string{}
	for name, p := range l.places {
		if link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", p.ns.FD())); err == nil && p.guest == nil {
			spaces[sample.Inode(link)] = name
		}
	}
	return spaces
}

// newPlace makes a place of ns, the calling thread's namespace. It closes ns on failure.
func newPlace(name string, ns *netns.Namespace) (*place, error) {
	p := &place{name: name}
	if err := p.open(ns); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// open gives p the calling thread's namespace ns and sets lo up.
func (p *place) open(ns *netns.Namespace) (err error) {
	p.ns, p.known, p.sysfs = ns, map[string]int32{"lo": loopback}, &sysfs{}
	if p.nl, err = openSocket(unix.NETLINK_ROUTE); err != nil {
		return err
	}
	if err := run(one(p.change("lo", unix.IFF_UP))); err != nil {
		return fmt.Errorf("set lo up: %w", err)
	}
	return nil
}

// ethtool opens the socket at its first use: few plans need it.
func (p *place) ethtool() (_ *local.Ethtool, err error) {
	if p.eth == nil {
		err = p.ns.Do(func() (err error) {
			p.eth, err = local.OpenEthtool()
			return err
		})
	}
	return p.eth, err
}

func (p *place) close() error {
	var errs []error
	if p.nl != nil {
		errs = append(errs, p.nl.close())
	}
	if p.eth != nil {
		errs = append(errs, p.eth.Close())
	}
	if p.host != nil {
		errs = append(errs, p.host.Close())
	}
	if p.ns != nil {
		errs = append(errs, p.sysfs.close(), p.ns.Close())
	}
	return errors.Join(errs...)
}

func (l *lab) close() error {
	for _, p := range l.places {
		if p.guest != nil {
			p.guest.Close()
		}
	}
	errs := []error{l.undoAll()}
	l.stopServices()
	for _, p := range l.places {
		errs = append(errs, p.close())
	}
	if l.dir != nil {
		errs = append(errs, l.dir.Close())
		l.dir = nil
	}
	clear(l.places)
	return errors.Join(errs...)
}

func (l *lab) at(name string) (*place, error) {
	if p := l.places[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("unknown place %q: want one of %v", name, slices.Sorted(maps.Keys(l.places)))
}

func (l *lab) verify(ctx context.Context, states []plan.State) error {
	errs := []error{l.ended()}
	for _, s := range states {
		p, err := l.at(s.In)
		if err != nil {
			return err
		}
		if s.MTU != 0 || len(s.Offload) > 0 {
			errs = append(errs, p.verify(ctx, s))
		}
		if s.Output != nil {
			timed, cancel := bound(ctx, plan.DefaultTimeout)
			errs = append(errs, l.prints(timed, p, *s.Output))
			cancel()
		}
	}
	return errors.Join(errs...)
}

func (p *place) verify(ctx context.Context, s plan.State) error {
	if p.guest != nil {
		return p.guest.Check(ctx, s)
	}
	_, mtu, err := p.lookup(s.Dev)
	if err != nil {
		return fmt.Errorf("%s: device %s: %w", p.name, s.Dev, err)
	}
	if s.MTU != 0 && mtu != s.MTU {
		return fmt.Errorf("%s: MTU of %s is %d, expected %d", p.name, s.Dev, mtu, s.MTU)
	}
	if len(s.Offload) == 0 {
		return nil
	}
	eth, err := p.ethtool()
	if err != nil {
		return fmt.Errorf("%s: ethtool: %w", p.name, err)
	}
	have, err := eth.Features(s.Dev)
	if err != nil {
		return fmt.Errorf("%s: features of %s: %w", p.name, s.Dev, err)
	}
	var errs []error
	for f, want := range s.Offload {
		if have[f] != want {
			errs = append(errs, fmt.Errorf("%s: %s of %s is %v, expected %v", p.name, f, s.Dev, have[f], want))
		}
	}
	return errors.Join(errs...)
}

func clock() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail: every kernel has this clock
	return t.Nano()
}
