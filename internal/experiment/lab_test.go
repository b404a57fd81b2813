package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// printState prints everything that a condition can change, directly or through the kernel.
func printState() error {
	links, err := netlink.LinkList()
	if err != nil {
		return err
	}
	eth, err := local.OpenEthtool()
	if err != nil {
		return err
	}
	defer eth.Close()
	for _, l := range links {
		a := l.Attrs()
		features, err := eth.Features(a.Name)
		if err != nil {
			return err
		}
		addrs, err := netlink.AddrList(l, netlink.FAMILY_ALL)
		if err != nil {
			return err
		}
		qdiscs, err := netlink.QdiscList(l)
		if err != nil {
			return err
		}
		routes, err := netlink.RouteList(l, netlink.FAMILY_ALL)
		if err != nil {
			return err
		}
		fmt.Printf("%s mtu %d master %d tso %v", a.Name, a.MTU, a.MasterIndex, features["tx-tcp-segmentation"])
		for _, q := range qdiscs {
			fmt.Printf(" %s", q.Type())
		}
		for _, addr := range addrs {
			fmt.Printf(" %v", addr.IPNet)
		}
		for _, r := range routes {
			fmt.Printf(" route %v via %v", r.Dst, r.Gw)
		}
		fmt.Println()
	}
	return nil
}

// A watch inspects a lab's devices when a client starts and before the lab is closed.
type watch struct {
	mu             sync.Mutex
	during, atEnd  []string
	atClientsStart func()
}

func (w *watch) Open(ctx context.Context, want topo.Topology, logs string) (*target.Site, error) {
	site, err := lab.Target{}.Open(ctx, want, logs)
	if err != nil {
		return nil, err
	}
	real := *site
	site.Nodes = map[string]target.Node{}
	for name, n := range real.Nodes {
		site.Nodes[name] = watched{n, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.during = append(w.during, state(&real))
			if w.atClientsStart != nil {
				w.atClientsStart()
			}
		}}
	}
	site.Close = func() error {
		w.mu.Lock()
		w.atEnd = append(w.atEnd, state(&real))
		w.mu.Unlock()
		return real.Close()
	}
	return site, nil
}

type watched struct {
	target.Node
	look func()
}

func (n watched) Run(ctx context.Context, c target.Cmd) error {
	if c.Stdin != nil {
		c.Stdin = orders{c.Stdin, n.look}
	}
	return n.Node.Run(ctx, c)
}

// orders calls look before an engine is told to run a trial.
type orders struct {
	io.Reader
	look func()
}

func (o orders) Read(b []byte) (int, error) {
	n, err := o.Reader.Read(b)
	if bytes.HasPrefix(b[:n], []byte(`["run"`)) {
		o.look()
	}
	return n, err
}

func state(s *target.Site) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Nodes)) {
		fmt.Fprintf(&b, "%s:\n", name)
		if err := s.Nodes[name].Run(context.Background(), target.Cmd{Argv: []string{"weir", "state"}, Stdout: &b, Stderr: &b}); err != nil {
			fmt.Fprintln(&b, err)
		}
	}
	return b.String()
}

func labStudy(blocks int) study.Study {
	s := study.Default()
	s.Name, s.Blocks, s.Seed, s.Warmup, s.Duration = "lab", blocks, 7, 0, 20*time.Millisecond
	s.Networks = []study.Use{{Kind: "host"}, {Kind: "vxlan-overlay"}}
	s.Probes = []study.Use{{Kind: "udp-rr"}}
	return s.Resolve()
}

func labConfig(t testing.TB, s study.Study, d *store.Dir, spec topo.Spec) Config {
	t.Helper()
	return Config{
		Study: s, Dir: d, Target: lab.Target{},
		Networks: map[string]Network{
			"host":          on(t, &network.Host{}, spec),
			"vxlan-overlay": on(t, &network.VXLANOverlay{VNI: 1, Port: 4789}, spec),
		},
		Probe: func(string, map[string]string) (probe.Probe, error) { return &probe.UDPRR{}, nil },
	}
}

// A condition is in force during its trial and undone however the trial ends.
func TestConditionsInTheLab(t *testing.T) {
	nstest.Need(t)
	t.Parallel()
	why, six := errors.New("enough"), topo.Spec{IPv6: true, PodsIPv6: true} // IPv6 restricts small MTUs
	plain := &watch{}
	c := labConfig(t, labStudy(1), results(t, filepath.Join(t.TempDir(), "out")), six)
	c.Target = plain
	if err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if len(plain.atEnd) != 2 {
		t.Fatalf("%d networks were built, want 2", len(plain.atEnd))
	}
	built := slices.Sorted(slices.Values(plain.atEnd))
	for _, c := range []struct{ factor, level, sign string }{
		{"mtu", "9000", "eth0 mtu 9000"},
		{"mtu", "1400", "eth0 mtu 1400"},
		{"offload", "off", "eth0 mtu 1500 master 0 tso false"},
		{"nic", "none", "eth0 mtu 1500 master 0 tso false"},
		{"link", "100mbit", "tbf"},
	} {
		for _, end := range []string{"ok", "failed", "canceled"} {
			t.Run(c.factor+"="+c.level+" "+end, func(t *testing.T) {
				if testing.Short() && c.factor != "link" {
					t.Skip("slow: run without -short")
				}
				t.Parallel()
				s := labStudy(1)
				s.Factors = map[string][]string{c.factor: {c.level}}
				conf := labConfig(t, s, results(t, filepath.Join(t.TempDir(), "out")), six)
				w := &watch{}
				conf.Target = w
				if end == "failed" {
					conf.Probe = func(string, map[string]string) (probe.Probe, error) { return failing{}, nil }
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if end == "canceled" {
					w.atClientsStart = func() { cancel(why) }
				}
				rs, err := measured(ctx, conf)
				for _, r := range rs {
					if string(r.Status) != end {
						t.Errorf("%s is %s: %s", r.Trial, r.Status, r.Reason)
					}
				}
				if end == "canceled" != errors.Is(err, why) || end != "canceled" && err != nil {
					t.Fatalf("error %v", err)
				}
				if err != nil && strings.Contains(err.Error(), "step ") {
					t.Errorf("the condition was not undone: %v", err) // joined to the reason of the cancellation
				}
				if len(w.during) == 0 {
					t.Fatal("no client was started")
				}
				for _, d := range w.during {
					if !strings.Contains(d, c.sign) || slices.Contains(built, d) {
						t.Errorf("during the trial there was no %q:\n%s", c.sign, d)
					}
				}
				if after := slices.Sorted(slices.Values(w.atEnd)); !slices.Equal(after, built) {
					t.Errorf("%d networks after the trial, %d as built; not the same:\n%s", len(after), len(built), changes(after, built))
				}
			})
		}
	}
}

// changes returns the lines that only one of two lists of states has, with their places.
func changes(after, built []string) string {
	lines := func(states []string) (all []string) {
		for _, s := range states {
			place := ""
			for line := range strings.Lines(s) {
				if line = strings.TrimSpace(line); strings.HasSuffix(line, ":") {
					place = line
				}
				all = append(all, place+" "+line)
			}
		}
		return all
	}
	var b strings.Builder
	a, z := lines(after), lines(built)
	for _, l := range a {
		if !slices.Contains(z, l) {
			fmt.Fprintln(&b, "after the trial:", l)
		}
	}
	for _, l := range z {
		if !slices.Contains(a, l) {
			fmt.Fprintln(&b, "as built:", l)
		}
	}
	return b.String()
}

type failing struct{ probe.UDPRR }

func (f failing) Commands(w probe.Window) (server, client []string) {
	server, client = f.UDPRR.Commands(w)
	return server, append(client, "--no-such-flag")
}

// A refused network has a step that every kernel rejects.
type refused struct{ network.Host }

func (d refused) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := d.Host.Plan(t)
	p.Steps = append(p.Steps, plan.Step{In: "h2", Set: &plan.Set{Dev: "eth0", MTU: 1 << 20}})
	return p, err
}

// A step that the kernel refuses skips only its network's trials, with the kernel's reason.
func TestRefusedInTheLab(t *testing.T) {
	nstest.Need(t)
	t.Parallel()
	conf := labConfig(t, labStudy(2), results(t, filepath.Join(t.TempDir(), "out")), topo.Spec{})
	n := conf.Networks["vxlan-overlay"]
	n.Driver = refused{}
	conf.Networks["vxlan-overlay"] = n
	rs, err := measured(t.Context(), conf)
	if err != nil || len(rs) != 4 {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	for _, r := range rs {
		want, reason := record.OK, ""
		if r.Config["network"] == "vxlan-overlay" {
			want, reason = record.Skipped, "in h2: set MTU of eth0 to 1048576: invalid argument"
		}
		if r.Status != want || !strings.Contains(r.Reason, reason) {
			t.Errorf("%s is %s: %s", r.Trial, r.Status, r.Reason)
		}
	}
}
