// Package lab makes this machine a target: hosts and pods as network namespaces,
// plans applied through netlink. No other package imports netlink and ethtool. It
// decides nothing: a plan says what to build.
//
// It must run in a process that package rootless started, so that a mistake cannot
// reach the machine's own network.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/weir-bench/weir/internal/cgroup"
	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/vm"
	"github.com/weir-bench/weir/internal/topo"
)

// A lab is a set of places for plans to connect.
type lab struct {
	places   map[string]*place
	logs     string     // directory of the services' logs; "" is each place's own
	services []*service // in the order of their start
	undo     []func(context.Context) error
	found    map[string]string
	values   map[string]string         // what names in braces stand for in a plan
	keys     map[[2]string]wgtypes.Key // of wireguard devices, by place and device
	dir      *os.File                  // that places without a tree of their own share; nil when the kernel is too old
}

// A place is one namespace: a host, a pod, or the switch between hosts.
type place struct {
	name  string
	ns    *netns.Namespace
	nl    *netlink.Handle  // a socket that lives in ns, so that no thread has to
	eth   *ethtool.Ethtool // likewise
	host  *hostns.Host     // what else a place has of its own; nil until a step needs it
	guest *vm.Node         // the pod is a virtual machine; nil until a step says so
	known map[string]int   // numbers of devices
}

// Target is this machine as a target.Target.
type Target struct{}

// Open makes a namespace for each host and pod of want, and for the switch between
// hosts. Nothing connects them yet. Services log to files in the directory logs, or
// to the state directory of their place when logs is "".
func (Target) Open(ctx context.Context, want topo.Topology, logs string) (*target.Site, error) {
	s, err := Open(ctx, network.Places(want), logs)
	if err == nil {
		s.Topology = want
	}
	return s, err
}

// Open is Target.Open for places that are only named.
func Open(ctx context.Context, names []string, logs string) (_ *target.Site, err error) {
	l := &lab{places: map[string]*place{}, logs: logs, found: map[string]string{}, keys: map[[2]string]wgtypes.Key{},
		values: map[string]string{"dir": hostns.Dir, "cgroup": cgroup.Name()}}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	for _, name := range names {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if l.places[name] != nil {
			return nil, fmt.Errorf("lab: two places are called %s", name)
		}
		ns, err := netns.New()
		if err != nil {
			return nil, fmt.Errorf("lab: create %s: %w", name, err)
		}
		p, err := newPlace(name, ns)
		if err != nil {
			return nil, fmt.Errorf("lab: create %s: %w", name, err)
		}
		l.places[name] = p
	}
	if l.dir, err = newDir(); err != nil {
		return nil, fmt.Errorf("lab: directory of the nodes: %w", err)
	}
	s := &target.Site{Nodes: map[string]target.Node{}, Private: true, Apply: l.apply, Verify: l.verify, Shell: l.shell, Found: l.found, Close: l.close}
	for name, p := range l.places {
		s.Nodes[name] = p
	}
	return s, nil
}

// newPlace makes a place of a namespace, which it closes when it fails.
func newPlace(name string, ns *netns.Namespace) (_ *place, err error) {
	p := &place{name: name, ns: ns, known: map[string]int{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	// Route only: the default opens a socket for every netlink family.
	if p.nl, err = netlink.NewHandleAt(vnetns.NsHandle(ns.FD()), unix.NETLINK_ROUTE); err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	err = ns.Do(func() (err error) {
		p.eth, err = ethtool.NewEthtool()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ethtool: %w", err)
	}
	lo, err := p.nl.LinkByName("lo")
	if err != nil {
		return nil, err
	}
	return p, p.nl.LinkSetUp(lo)
}

func (p *place) close() error {
	if p.nl != nil {
		p.nl.Close()
		p.nl = nil // a closed handle acts in the caller's namespace
	}
	if p.eth != nil {
		p.eth.Close()
	}
	var err error
	if p.host != nil {
		err = p.host.Close()
	}
	return errors.Join(err, p.ns.Close())
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

// at finds a place by its name.
func (l *lab) at(name string) (*place, error) {
	if p := l.places[name]; p != nil {
		return p, nil
	}
	var known []string
	for n := range l.places {
		known = append(known, n)
	}
	slices.Sort(known)
	return nil, fmt.Errorf("no place is called %q, there are %v", name, known)
}

// verify checks that every service runs, and that states hold.
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

// verify checks the MTU and the features of a device.
func (p *place) verify(ctx context.Context, s plan.State) error {
	if p.guest != nil {
		return p.guest.Check(ctx, s)
	}
	dev, err := p.nl.LinkByName(s.Dev)
	if err != nil {
		return fmt.Errorf("%s: device %s: %w", p.name, s.Dev, err)
	}
	if got := dev.Attrs().MTU; s.MTU != 0 && got != s.MTU {
		return fmt.Errorf("%s: MTU of %s is %d, expected %d", p.name, s.Dev, got, s.MTU)
	}
	if len(s.Offload) == 0 {
		return nil
	}
	have, err := p.eth.Features(s.Dev)
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
