package catalog

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/engine/web"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/labtest"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
)

func TestMain(m *testing.M) { labtest.Main(m, nil) }

// Every network that needs no other programs works in the lab, even without ip(8): full-size
// packets pass, and a trial finds that they took the planned path before, during and after a
// condition.
func TestNetworksInTheLab(t *testing.T) {
	nstest.Need(t)
	for _, name := range In(network.InLab) {
		n := Networks[name]
		for _, s := range []topo.Spec{{}, {Pods: 2, IPv6: true, PodsIPv6: true}, {Hosts: 3}, {Hosts: 1}} {
			d := n.New()
			tp, err := topo.New(n.Spec(d, s))
			if err != nil {
				t.Fatal(err)
			}
			p, err := network.Build(d, tp)
			if _, _, none := p.Between(""); err != nil || none != nil || len(p.Daemons())+len(p.Programs()) > 0 || len(p.Ends) == 1 {
				continue // another test says which of them have to be built
			}
			t.Run(fmt.Sprintf("%s/%d hosts, %d pods, IPv6 %v", name, len(tp.Hosts), len(tp.Hosts[0].Pods), s.IPv6), func(t *testing.T) {
				if testing.Short() && name != "vxlan-overlay" {
					t.Skip("slow: run without -short")
				}
				t.Parallel()
				built := labtest.Up(t, tp, p, "")
				change, err := condition.Change(d, tp, map[string]string{"mtu": "2000", "nic": "tso", "link": "1gbit"})
				if err != nil {
					t.Fatal(err)
				}
				measureAfter(t, built, p, nil)
				measureAfter(t, built, change.Plan, change.Do)
				measureAfter(t, built, p, change.Undo)
			})
		}
	}
}

// Bridges in the lab pass packets to netfilter if the plan says so, under the factor bridge-nf, too,
// and a trial notices if something else changes that.
func TestBridgeNFInTheLab(t *testing.T) {
	nstest.Need(t)
	if _, err := os.Stat("/proc/sys/net/bridge/bridge-nf-call-iptables"); err != nil {
		t.Skip("the kernel has no br_netfilter")
	}
	d := network.VXLANOverlay{VNI: 1, Port: 4789}
	tp, p := labtest.Plan(t, d, topo.Spec{Hosts: 3}) // with a switch, which is a bridge, too
	built := labtest.Up(t, tp, p, "")
	run := func(p plan.Plan) record.Result {
		built.Plan = p
		return labtest.Run(t, built, &probe.UDPRR{})
	}
	apply := func(steps ...plan.Step) { labtest.Apply(t, built.Site, steps...) }
	key := func(node string) string {
		b, _ := fs.ReadFile(built.Site.Nodes[node].FS(), "proc/sys/net/bridge/bridge-nf-call-iptables") // "" differs from what is wanted
		return strings.TrimSpace(string(b))
	}
	change, err := condition.Change(d, tp, map[string]string{"bridge-nf": "on"})
	if err != nil {
		t.Fatal(err)
	}
	if r := run(p); r.Observed["bridge.nf"] != "off" || r.Status != record.OK || key("h1") != "0" || key(network.Switch) != "0" {
		t.Errorf("as built: %s %s, %v; the keys are %q and %q", r.Status, r.Reason, r.Observed, key("h1"), key(network.Switch))
	}
	apply(change.Do...)
	if r := run(change.Plan); r.Observed["bridge.nf"] != "on" || r.Status != record.OK || key("h2") != "1" || key(network.Switch) != "0" {
		t.Errorf("on: %s %s, %v; the keys are %q and %q", r.Status, r.Reason, r.Observed, key("h2"), key(network.Switch))
	}
	apply(change.Undo...)
	if r := run(p); r.Observed["bridge.nf"] != "off" || r.Status != record.OK {
		t.Errorf("off again: %s %s, %v", r.Status, r.Reason, r.Observed)
	}
	apply(plan.Step{In: built.Server.Host, Sysctl: &plan.Sysctl{Key: plan.BridgeNF + "iptables", Value: "1"}})
	if r := run(p); r.Status != record.Invalid || !strings.Contains(r.Reason, "net.bridge.bridge-nf-call-iptables is 1, the plan has 0") {
		t.Errorf("changed by something else: %s, %s", r.Status, r.Reason)
	}
}

// A Service's address leads to its pod, from pods and from hosts, for as many Services as need several
// files, and a trial finds that packets took the planned path. Without the rules it leads nowhere.
func TestServicesInTheLab(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, mode := range []string{network.ServicesIPTables, network.ServicesIPTablesLegacy, network.ServicesNFTables, network.ServicesIPVS} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			tp, p := labtest.Plan(t, &network.ServiceRules{Mode: mode, Services: 300}, topo.Spec{Hosts: 3, Pods: 2})
			for _, program := range p.Programs() {
				if _, _, err := facts.Tool(t.Context(), program); facts.Find(program) == "" {
					t.Skip(err)
				}
			}
			for _, pair := range []string{"pod-pod", "host-pod", "pod3-pod1"} {
				built := labtest.Up(t, tp, p, pair)
				labtest.Reach(t, built)
				succeeds(t, built, &probe.UDPRR{})
				succeeds(t, built, &probe.TCPCRR{})
			}
			p.Steps = slices.DeleteFunc(p.Steps, func(s plan.Step) bool { return s.Exec != nil })
			e := labtest.Up(t, tp, p, "").Engines
			if _, err := e.Reach(t.Context(), p.Path.MTU, 300*time.Millisecond); err == nil {
				t.Error("packets reach a pod through its Service without rules")
			}
		})
	}
}

// Under the factor gro the devices of pods join packets or do not, and a trial notices if something
// else changes that.
func TestGROInTheLab(t *testing.T) {
	nstest.Need(t)
	d := network.VXLANOverlay{VNI: 1, Port: 4789}
	tp, p := labtest.Plan(t, d, topo.Spec{})
	built := labtest.Up(t, tp, p, "")
	for level, want := range map[string]map[string]bool{"on": {"eth0": true}, "off": {"vx0": false}} {
		c, err := condition.Change(d, tp, map[string]string{"gro": level})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, s := range c.Plan.States() {
			if on, ok := s.Offload["rx-gro"]; ok {
				seen[s.Dev] = on
			}
		}
		for dev, on := range want {
			if got, ok := seen[dev]; !ok || got != on {
				t.Errorf("%s: the plan expects %v", level, seen)
			}
		}
		if err := built.Site.Verify(t.Context(), c.Plan.States()); err == nil {
			t.Errorf("%s: what it changes holds before", level)
		}
		measureAfter(t, built, c.Plan, c.Do)
		measureAfter(t, built, p, c.Undo)
	}
}

// measureAfter takes steps that make p of a built network. Packets then pass, along the planned path.
func measureAfter(t *testing.T, built trial.Setup, p plan.Plan, steps []plan.Step) {
	t.Helper()
	labtest.Apply(t, built.Site, steps...)
	built.Plan = p
	labtest.Reach(t, built)
	succeeds(t, built, &probe.UDPRR{})
}

// succeeds runs a trial; its status is ok if packets took the planned path.
func succeeds(t *testing.T, built trial.Setup, pr probe.Probe) {
	t.Helper()
	if r := labtest.Run(t, built, pr); r.Status != record.OK {
		t.Errorf("%v: %s", r.Status, r.Reason)
	}
}

// Pods on a shared NIC need its routing table and proxy ARP: without either, no packet arrives.
func TestSharedENINeeds(t *testing.T) {
	nstest.Need(t)
	for name, spoil := range map[string]func(steps []plan.Step) []plan.Step{
		"the table": func(steps []plan.Step) []plan.Step {
			for i, s := range steps {
				if s.Route != nil && s.Route.Table != 0 {
					steps[i].Route = &plan.Route{Dst: s.Route.Dst, Dev: "eth0", Table: s.Route.Table}
				}
			}
			return steps
		},
		"the proxy": func(steps []plan.Step) []plan.Step {
			return slices.DeleteFunc(steps, func(s plan.Step) bool { return s.Proxy != nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tp, p := labtest.Plan(t, &network.ENIShared{}, topo.Spec{})
			p.Steps = spoil(p.Steps)
			built := labtest.Up(t, tp, p, "")
			if _, err := built.Engines.Reach(t.Context(), p.Path.MTU, 300*time.Millisecond); err == nil {
				t.Error("packets pass all the same")
			}
			if err := built.Site.Verify(t.Context(), p.States()); err != nil {
				t.Error(err) // something else is wrong
			}
		})
	}
}

// Two proxies carry what programs say, whichever program they are. With mtls the server's refuses who has no certificate, and one
// that has expired ends a trial with the reason.
func TestProxiesInTheLab(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, program := range []string{network.HAProxy, network.Envoy} {
		for _, d := range []network.Proxy{{}, {L7: true}, {MTLS: true}, {L7: true, MTLS: true}, {L7: true, At: network.ProxyServer}, {At: network.ProxyClient}} {
			d.Program, d.Threads, d.At = program, 2, cmp.Or(d.At, network.ProxyBoth)
			t.Run(fmt.Sprintf("%s, l7 %t, mtls %t, at %s", program, d.L7, d.MTLS, d.At), func(t *testing.T) {
				tp, p := labtest.Plan(t, &d, topo.Spec{})
				for _, program := range p.Programs() {
					if _, _, err := facts.Tool(t.Context(), program); facts.Find(program) == "" {
						t.Skip(err)
					}
				}
				built := labtest.Up(t, tp, p, "")
				for _, pr := range []probe.Probe{&probe.TCPRR{}, &probe.HTTPRR{}, &probe.HTTPRR{Connect: true}, &probe.HTTPRR{TLS: true}, &probe.HTTPRR{H2: true}, &probe.TCPStream{}} {
					succeeds(t, built, pr)
				}
				if d.At == network.ProxyBoth {
					testPlain(t, tp, p, built.Server, d.MTLS)
				}
				if d.MTLS {
					testExpired(t, tp, p)
				}
			})
		}
	}
}

// testPlain has the server's own host, which no proxy redirects, connect to the server.
func testPlain(t *testing.T, tp topo.Topology, p plan.Plan, server plan.End, refuses bool) {
	beside := plan.End{Label: plan.Host, Node: server.Host, Host: server.Host, Addr: tp.Hosts[1].Addr.Addr(), Dev: "br0"}
	r := labtest.Run(t, labtest.Ends(t, labtest.Build(t, tp, p), p, beside, server), &probe.TCPCRR{})
	if refused := r.Status == record.Failed; refused != refuses {
		t.Errorf("a client without a certificate: %s %s", r.Status, r.Reason)
	}
}

func testExpired(t *testing.T, tp topo.Topology, p plan.Plan) {
	old, err := web.Identify(time.Unix(0, 0), time.Now().Add(-time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(old.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: old.Certificate[0]}))
	content := map[string]string{plan.CA: certificate, plan.Identity: certificate + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))}
	for i, s := range p.Steps {
		if s.File != nil && content[s.File.Content] != "" {
			p.Steps[i].File = &plan.File{Name: s.File.Name, Content: content[s.File.Content]}
		}
	}
	if r := labtest.Run(t, labtest.Up(t, tp, p, ""), &probe.HTTPRR{}); r.Status == record.OK || !strings.Contains(r.Reason, "certificate has expired") {
		t.Errorf("an expired certificate: %s %s", r.Status, r.Reason)
	}
}
