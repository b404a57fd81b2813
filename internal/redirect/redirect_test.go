package redirect_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/engine"
	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/redirect"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
)

func TestMain(m *testing.M) { nstest.Main(m, weir) }

// weir runs the programs of these tests, in the lab's namespaces.
func weir(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch args[0] {
	case "host":
		err = hostns.Main(args[2:]) // host init …
	case "engine":
		if err = engine.Main(ctx, args[1:], nil, os.Stdout); args[1] == "agent" {
			err = engine.Agent(ctx, os.Stdin, os.Stdout, os.Stderr)
		}
	case "redirect":
		err = redirect.Run(ctx, args[1], args[2:], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// The programs forward whole packets between pods of one host, of two, and across a switch, and the
// hosts' stacks get the rest. Without them the same packets pass, and a trial says that the stack
// forwarded them.
func TestForward(t *testing.T) {
	nstest.Need(t)
	if rootless.Unprivileged() {
		t.Skip("BPF programs need root, not root of a user namespace")
	}
	for name, d := range map[string]network.Driver{
		"xdp":       network.XDPRedirect{},
		"tcx":       network.TCRedirect{},
		"netkit l3": network.Netkit{Mode: "l3", Program: true},
		"netkit l2": network.Netkit{Mode: "l2", Program: true},
		"af-xdp":    network.AFXDP{},
	} {
		for where, c := range map[string]struct {
			s    topo.Spec
			ends string
		}{
			"one host":    {topo.Spec{Hosts: 1, Pods: 2}, ""},
			"two hosts":   {topo.Spec{}, ""},
			"three hosts": {topo.Spec{Hosts: 3}, ""},
			"large MTU":   {topo.Spec{MTU: map[bool]int{true: 3498, false: 9000}[name == "af-xdp"]}, ""},
			"to a host":   {topo.Spec{}, "pod-host"},
			"from a host": {topo.Spec{}, "host-pod"},
			"host-host":   {topo.Spec{}, "host-host"},
		} {
			if name == "af-xdp" && where == "to a host" {
				continue // as with bridged: hosts do not forward
			}
			t.Run(name+"/"+where, func(t *testing.T) {
				if testing.Short() && (where != "two hosts" || name == "af-xdp") {
					t.Skip("slow: run without -short")
				}
				forward(t, d, c.s, c.ends)
			})
		}
	}
}

func forward(t *testing.T, d network.Driver, s topo.Spec, ends string) {
	tp, err := topo.New(s)
	if err != nil {
		t.Fatal(err)
	}
	p, err := network.Build(d, tp)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range measure(t, tp, p, ends, &probe.UDPRR{}, &probe.TCPStream{}, &probe.TCPCRR{}) {
		if r.Status != record.OK {
			t.Errorf("%v: %s", r.Status, r.Reason)
		}
	}
	if _, user := d.(network.AFXDP); user || ends != "" {
		return // without the switch in user space nothing arrives at all
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s plan.Step) bool { return s.Service != nil })
	if r := measure(t, tp, p, "", &probe.UDPRR{})[0]; r.Status != record.Invalid || !strings.Contains(r.Reason, "they did not pass below it") {
		t.Errorf("without the programs: %v: %s", r.Status, r.Reason)
	}
}

// measure builds p and runs a trial of each probe on it.
func measure(t *testing.T, tp topo.Topology, p plan.Plan, ends string, probes ...probe.Probe) (all []record.Result) {
	t.Helper()
	site, err := lab.Open(t.Context(), network.Places(tp), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := site.Apply(t.Context(), p.Steps); errors.Is(err, lab.ErrUnsupported) || err != nil && (strings.Contains(err.Error(), "run weir as root") || strings.Contains(err.Error(), "not supported by this kernel")) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	client, server, err := p.Between(ends)
	if err != nil {
		t.Fatal(err)
	}
	e, err := trial.StartEngines(context.WithoutCancel(t.Context()), site, client, server, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := e.Reach(t.Context(), p.Path.MTU, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	for _, pr := range probes {
		r, err := trial.Run(t.Context(), trial.Setup{Probe: pr, Client: client, Server: server, Site: site, Engines: e, Plan: p.On(client, server),
			Duration: 50 * time.Millisecond, Raw: func(string, []byte) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}
