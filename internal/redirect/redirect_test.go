package redirect_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/labtest"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/redirect"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

func TestMain(m *testing.M) {
	labtest.Main(m, map[string]func(context.Context, []string) error{
		"redirect": func(ctx context.Context, args []string) error { return redirect.Run(ctx, args[0], args[1:], os.Stdout) },
	})
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
	tp, p := labtest.Plan(t, d, s)
	built := labtest.Up(t, tp, p, ends)
	labtest.Reach(t, built)
	for _, pr := range []probe.Probe{&probe.UDPRR{}, &probe.TCPStream{}, &probe.TCPCRR{}} {
		if r := labtest.Run(t, built, pr); r.Status != record.OK {
			t.Errorf("%v: %s", r.Status, r.Reason)
		}
	}
	if _, user := d.(network.AFXDP); user || ends != "" {
		return // without the switch in user space nothing arrives at all
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s plan.Step) bool { return s.Service != nil })
	without := labtest.Up(t, tp, p, "")
	labtest.Reach(t, without)
	if r := labtest.Run(t, without, &probe.UDPRR{}); r.Status != record.Invalid || !strings.Contains(r.Reason, "they did not pass below it") {
		t.Errorf("without the programs: %v: %s", r.Status, r.Reason)
	}
}
