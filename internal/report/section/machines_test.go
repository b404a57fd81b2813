package section

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// foundRun is a synthetic run on machines that a target found: pairs of all of them, or one pair of two.
// Pairs with node3 carry a fifth.
func foundRun(t testing.TB, machines int, blocks, rounds int) *account.Account {
	t.Helper()
	rnd := rand.New(rand.NewPCG(20261123, uint64(machines)))
	r := &account.Account{Contents: account.Contents{Name: "cluster (synthetic)", Words: reporttest.Words, Target: study.Target{Kube: &study.Kube{Context: "east"}}, Hosts: map[string][]byte{},
		Options: analysis.Options{Baseline: "host", Networks: []string{"host", "pod"}, Probes: []string{"tcp-stream"}}}}
	for n := 1; n <= machines; n++ {
		m := analysis.Machine{Name: fmt.Sprint("node", n), Zone: []string{"east-1", "east-2"}[n%2]}
		r.Machines = append(r.Machines, m)
		f := facts.Facts{Kernel: "6.12.9", CPU: "Example 3 GHz", CPUs: 16, Devices: map[string]facts.Device{
			"ens3":      {Kind: facts.Physical, Driver: "ena", Speed: 25e9, MTU: 9001, RxQueues: 8, Offloads: []string{"tcp-segmentation-offload", "generic-receive-offload"}},
			"flannel.1": {Kind: "vxlan", MTU: 8951}}}
		if n == 3 {
			f.Kernel, f.CPULimit, f.Throttled, f.Sandbox = "6.1.0", 1.5, 12, "kata"
			f.Devices["ens3"] = facts.Device{Kind: facts.Physical, Driver: "e1000e", Speed: 1e9, MTU: 1500}
		}
		b, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		r.Hosts[m.Name] = b
	}
	trial := func(block int, network string, a, b int) {
		v := map[string]float64{"host": 9.4e9, "pod": 8.1e9}[network] * math.Exp(0.02*rnd.NormFloat64())
		if a == 3 || b == 3 {
			v *= 0.21
		}
		x := record.Result{Format: record.Format, Trial: fmt.Sprintf("b%03d-%s-%d-%d", block, network, a, b), Block: block, Status: record.OK,
			Config: map[string]string{"network": network, "probe": "tcp-stream"},
			Observed: map[string]string{"path.mtu": map[string]string{"host": "9001", "pod": "8951"}[network], "tool": "weir 0.1",
				"cluster.version": "v1.33.1", "cluster.cni": "flannel", "cluster.kube-proxy": "nftables"},
			Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: v}}}
		dev := map[string]string{"host": "ens3", "pod": "eth0"}[network]
		from, to := a, b
		if block%2 == 0 {
			from, to = b, a
		}
		x.Observed.Observe(record.ClientHost.Is(fmt.Sprint("node", from)), record.ClientDevice.Is(dev), record.ServerHost.Is(fmt.Sprint("node", to)), record.ServerDevice.Is(dev))
		x.Observed["swapped"] = fmt.Sprint(block%2 == 0)
		if machines > 2 {
			x.Config["pair"] = fmt.Sprintf("h%d-h%d", a, b)
		}
		r.Results = append(r.Results, x)
	}
	for block := 1; block <= blocks; block++ {
		for _, network := range r.Networks {
			for a := 1; a <= machines; a++ {
				for b := a + 1; b <= machines; b++ {
					if rounds == 0 || (a*7+b*11+block)%machines < rounds {
						trial(block, network, a, b)
					}
				}
			}
		}
	}
	return r
}

// A run on machines names them, draws who was measured against whom, and says which one is slow.
func TestMachines(t *testing.T) {
	mesh := foundRun(t, 5, 10, 0)
	reporttest.Chinese(t, Report(reporttest.Analyzed(mesh)))
	reporttest.Golden(t, "machines.txt", []byte(write(t, writers["text"], mesh)))
	reporttest.Golden(t, "machines.md", []byte(write(t, writers["markdown"], mesh)))
	goldenSections(t, "machines.html", mesh, "answer", "slow", "machines")
	text := strings.Join(strings.Fields(write(t, writers["text"], mesh)), " ")
	for _, want := range []string{
		"measured between pods of node1, node2, node3, node4 and node5 in cluster east",
		"node3 is slow: 0.212× [", "of the others' throughput (pod), as sender and as receiver.",
		"host: each of 5 machines (ens3) – each other one (ens3), MTU 9001",
		"node3: control groups limit weir to 1.5", "node3: the container runtime (kata) has a kernel of its own",
		"The machines differ in: kernel, driver, speed, MTU.", "6.1.0 ≠", "1 Gbit/s ≠", "cluster version: v1.33.1", "cluster kube-proxy: nftables",
		"weir found these networks and changed nothing",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "datapath bench") || strings.Contains(text, "h3") {
		t.Errorf("machines without their names, or as one:\n%s", text)
	}
	page := write(t, writers["html"], mesh)
	for _, want := range []string{"Who was measured against whom", "by host of client and server, median over blocks, pod", "node3 to node4"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

func goldenSections(t *testing.T, file string, r *account.Account, ids ...string) {
	t.Helper()
	r = reporttest.Again(r)
	d := Report(r)
	some := &doc.Document{Title: d.Title, Where: d.Where, Networks: d.Networks, Baseline: d.Baseline}
	for _, id := range ids {
		if p := reporttest.Part(d, id); p != nil {
			some.Sections = append(some.Sections, *p)
		} else {
			t.Errorf("%s: no section %s", file, id)
		}
	}
	var b strings.Builder
	if err := render.HTML(&b, some); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, file, []byte(b.String()))
}

func TestTwoMachines(t *testing.T) {
	r := foundRun(t, 2, 8, 0)
	r.Target = study.Target{SSH: []string{"node1", "node2"}}
	goldenSections(t, "machines-two.html", r, "machines")
	text := strings.Join(strings.Fields(write(t, writers["text"], r)), " ")
	for _, want := range []string{"measured between node1 and node2 over SSH", "host: node1 (ens3) – node2 (ens3), MTU 9001", "pod: node1 (eth0) – node2 (eth0), MTU 8951"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "slow") {
		t.Errorf("one of two machines is slow:\n%s", text)
	}
}

// Readers learn which end of a pair was the client.
func TestDirectionOfPairs(t *testing.T) {
	const one = "Each pair is measured in one direction"
	mesh := foundRun(t, 3, 6, 0)
	if text := pooled(reporttest.Analyzed(mesh).Analysis); strings.Contains(text, one) || !strings.Contains(text, "change places in half") {
		t.Errorf("with swapped blocks: %s", text)
	}
	for _, r := range mesh.Results {
		r.Observed["swapped"] = "false"
	}
	if text := pooled(reporttest.Analyzed(mesh).Analysis); !strings.Contains(text, one) {
		t.Errorf("without swapped blocks: %s", text)
	}
}

// Hundreds of machines are summed up: no matrix of their pairs, and no table with a row for each.
func TestManyMachines(t *testing.T) {
	r := foundRun(t, 200, 6, 6)
	page := write(t, writers["html"], r)
	if len(page) > 1_500_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	for want, in := range map[string]bool{"by host of client and server": false, "machines between these are left out": true, "machines, from the worst": true,
		"measured between pods of 200 machines in cluster east": true, "The facts of 200 machines are in the files": true} {
		if strings.Contains(page, want) != in {
			t.Errorf("%q is in the page: %v", want, !in)
		}
	}
	text := write(t, writers["text"], r)
	if n := strings.Count(text, "\n"); n > 150 || !strings.Contains(text, "node3 is slow") {
		t.Errorf("the text has %d lines:\n%s", n, text)
	}
}

// A machine that is slow in one direction is named with that direction's ratio. Where one pair alone shows it, the text
// says neither that the machine is slow nor that none is.
func TestSlowOneWay(t *testing.T) {
	for name, c := range map[string]struct {
		ahead bool
		slow  func(from, to string) bool
		want  []string
		not   string
	}{
		"what one sends": {false, func(from, _ string) bool { return from == "node2" }, []string{"node2 is slow: 0.02", "as sender, not shown as receiver"}, "none is slow"},
		"one pair alone": {true, func(from, to string) bool { return from == "node3" && to == "node4" }, []string{"the worst is node3 as sender, 0.02", "whether a machine is slow or a path"}, " is slow:"},
	} {
		r := foundRun(t, 4, 10, 0)
		for _, x := range r.Results {
			from, to := x.Observed[record.ClientHost.Key()], x.Observed[record.ServerHost.Key()]
			if c.ahead && x.Observed["swapped"] == "true" {
				from, to = to, from
				x.Observed["swapped"] = "false"
			}
			if strings.Contains(x.Config["pair"], "h3") {
				x.Values[0].Value /= 0.21
			}
			if c.slow(from, to) {
				x.Values[0].Value *= 0.02
			}
		}
		text := strings.Join(strings.Fields(write(t, writers["text"], r)), " ")
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
		if strings.Contains(text, c.not) {
			t.Errorf("%s: %q in\n%s", name, c.not, text)
		}
	}
}

// The sentence says what was shown, and no more.
func TestCalmMachines(t *testing.T) {
	for name, c := range map[string]struct {
		slow   float64
		blocks int
		want   string
	}{
		"alike":      {1, 10, "No machine is slow under any of 2 combinations of network and probe."},
		"few blocks": {1, 2, "There are too few blocks to say whether a machine is slow."},
	} {
		r := foundRun(t, 5, c.blocks, 0)
		for i, x := range r.Results {
			if strings.Contains(x.Config["pair"], "h3") {
				r.Results[i].Values[0].Value /= 0.21
			}
		}
		if text := strings.Join(strings.Fields(write(t, writers["text"], r)), " "); !strings.Contains(text, c.want) || strings.Contains(text, "node3 is slow") {
			t.Errorf("%s: no %q in\n%s", name, c.want, text)
		}
	}
}
