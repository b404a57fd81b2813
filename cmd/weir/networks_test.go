package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

var probesOfAll = []string{"tcp-stream", "udp-stream", "udp-rr"}

// probesOf returns those of probesOfAll, or of as many over TCP where UDP would pass proxies by.
func probesOf(networks []string) []string {
	if strings.HasPrefix(networks[0], "proxy-") {
		return []string{"tcp-stream", "tcp-rr", "http-connect"}
	}
	return probesOfAll
}

// inGuest lists networks to build in a guest, whose kernel can have features that this one lacks;
// macvlan covers the guest's older kernel.
var inGuest = []string{"geneve-overlay", "ipip", "ipvlan", "ipvlan-l3", "macvlan", "ovs", "ovs-geneve", "ovs-vlan", "ovs-vxlan", "wireguard"}

// newer lists networks that need a newer kernel than the guest's can be.
var newer = []string{"netkit"}

// heavy lists networks that this kernel might lack support for, and whose programs take minutes in an emulated guest.
var heavy = []string{"kube-proxy-ipvs"}

// elsewhere lists, by program, networks that a guest also builds if that program, which not every
// distribution has, is installed.
var elsewhere = map[string][]string{
	"ipvsadm":                         {"service-ipvs"},
	"weaver":                          {"weave", "weave-encrypted", "weave-sleeve"},
	"/opt/calico/usr/bin/calico-node": {"calico-ipip"},
}

// mayLackKernel reports whether a guest builds the network because this kernel might lack support.
func mayLackKernel(name string) bool {
	if slices.Contains(inGuest, name) || slices.Contains(newer, name) || slices.Contains(heavy, name) {
		return true
	}
	for _, networks := range elsewhere {
		if slices.Contains(networks, name) {
			return true
		}
	}
	return false
}

// slow bounds the start of a network with daemons or virtual machines on a machine that also starts
// others.
const slow = 5 * time.Minute

// Every network of the catalog works: full-size packets pass in both directions before anything is
// measured; TCP, UDP and request/response are measured over it, and counters prove the path;
// nothing of it is left afterward.
func TestEveryNetwork(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, name := range catalog.In(network.InLab) {
		t.Run(name, func(t *testing.T) {
			if !strings.HasPrefix(name, "vm-") { // beside the other networks, an emulated guest took up to all of its time
				t.Parallel()
			}
			var p *process
			var dir, why string
			var seen traces
			status := 0
			for range 3 { // on a busy machine a run can end before this process looks
				state := newStateDirs(t)
				dir = filepath.Join(t.TempDir(), "out")
				p = start(t, state.env(), allOf(dir, name)...)
				seen = p.traces(t, notEmpty(filepath.Join(dir, "results.jsonl")))
				status = p.statusWithin(t, slow)
				seen.gone(t)
				state.empty(t)
				if why = skippedAs(t, dir); why != "" || status != 0 || len(seen.processes) > 0 {
					break
				}
			}
			switch {
			case why == "" && status == 0:
				allOK(t, dir, name)
				if len(seen.processes) == 0 {
					t.Error("the run ended before the test could list its processes")
				}
			case strings.Contains(why, "no package has it"):
				t.Logf("not tried: %s", why)
			case mayLackKernel(name) && strings.Contains(why, "not supported by this kernel"):
				t.Logf("only in a guest: %s", why)
			case os.Geteuid() != 0 && strings.Contains(why, "needs root"), // Docker
				strings.Contains(why, "CAP_BPF"), // root of a container
				strings.Contains(why, "not found: "),
				strings.Contains(why, "no kernel for a guest: "),
				strings.Contains(why, "CGO_ENABLED=0"): // containers and guests need a static program
				t.Skip(why)
			default:
				t.Errorf("status %d, %s\n%s", status, why, &p.stderr)
			}
		})
	}
	t.Run("in a guest", func(t *testing.T) {
		if err := guestErr(); err != nil {
			t.Skip(err)
		}
		// Not in parallel, as above.
		networks := slices.Clone(inGuest)
		for program, more := range elsewhere {
			if _, _, err := facts.Tool(t.Context(), program); err != nil {
				t.Logf("not tried: %v", err)
			} else {
				networks = append(networks, more...)
			}
		}
		dir := filepath.Join(t.TempDir(), "out")
		p := start(t, nil, append(allOf(dir, networks...), "--in-vm")...)
		if status := p.statusWithin(t, slow); status != 0 {
			t.Errorf("status %d\n%s", status, &p.stderr)
		}
		allOK(t, dir, networks...)
		for _, r := range results(t, dir) {
			if strings.HasPrefix(r.Config["network"], "ovs") && r.Observed["ovs.datapath"] != "system" {
				t.Errorf("%s: datapath %q, although a guest's kernel has its own", r.Trial, r.Observed["ovs.datapath"])
			}
		}
	})
}

func allOf(dir string, networks ...string) []string {
	return []string{"run", "-n", strings.Join(networks, ","), "-p", strings.Join(probesOf(networks), ","), "--blocks", "1",
		"--duration", "100ms", "--warmup", "20ms", "--keep-disturbed", "-o", dir}
}

func results(t *testing.T, dir string) []record.Result {
	t.Helper()
	c, err := store.Read(dir)
	if err != nil || len(c.Problems) > 0 {
		t.Fatalf("problems %v, %v", c.Problems, err)
	}
	return c.Results
}

// skippedAs returns the reason why the trials of a run were skipped, or "" if one was not.
func skippedAs(t *testing.T, dir string) (why string) {
	t.Helper()
	for _, r := range results(t, dir) {
		if r.Status != record.Skipped {
			return ""
		}
		why = r.Reason
	}
	return why
}

func allOK(t *testing.T, dir string, networks ...string) {
	t.Helper()
	rs := results(t, dir)
	if len(rs) != len(networks)*len(probesOfAll) {
		t.Errorf("%d results for %d networks and %d probes", len(rs), len(networks), len(probesOfAll))
	}
	for _, r := range rs {
		if r.Status != record.OK {
			t.Errorf("%s: %s %s", r.Trial, r.Status, r.Reason)
		}
	}
}
