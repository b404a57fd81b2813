package lab

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
)

// A place reads its own settings: those of its devices, the rules of its packet filters, and the path MTU
// that a router told it.
func TestSettings(t *testing.T) {
	s := open(t, "a", "r", "b")
	prefix := netip.MustParsePrefix
	far := netip.MustParseAddr("198.18.2.1")
	err := s.Apply(t.Context(), []plan.Step{
		{In: "r", Sysctl: &plan.Sysctl{Key: "net.ipv4.ip_forward", Value: "1"}},
		{In: "a", Link: &plan.Link{Name: "e0", Kind: "veth", MTU: 1500, Peer: "e1", PeerIn: "r"}},
		{In: "r", Link: &plan.Link{Name: "e2", Kind: "veth", MTU: 1400, Peer: "e0", PeerIn: "b"}},
		{In: "a", Addr: &plan.Addr{Dev: "e0", Prefix: prefix("198.18.1.1/24")}},
		{In: "r", Addr: &plan.Addr{Dev: "e1", Prefix: prefix("198.18.1.254/24")}},
		{In: "r", Addr: &plan.Addr{Dev: "e2", Prefix: prefix("198.18.2.254/24")}},
		{In: "b", Addr: &plan.Addr{Dev: "e0", Prefix: prefix("198.18.2.1/24")}},
		{In: "a", Route: &plan.Route{Dst: prefix("198.18.2.0/24"), Via: netip.MustParseAddr("198.18.1.254")}},
		{In: "b", Route: &plan.Route{Dst: prefix("198.18.1.0/24"), Via: netip.MustParseAddr("198.18.2.254")}},
		{In: "a", Offload: &plan.Offload{Dev: "e0", Features: map[string]bool{"tx-tcp-segmentation": false}}},
		{In: "a", Rate: &plan.Rate{Dev: "e0", Rate: 1e9, MTU: 1500}},
	})
	if err != nil {
		t.Fatal(err)
	}
	settings := func() evidence.Node {
		t.Helper()
		p, err := s.Nodes["a"].Settings(t.Context(), []string{"e0", "none0"}, []netip.Addr{far})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := settings()
	d := p.Devices["e0"]
	if len(p.Devices) != 1 || d.Kind != "veth" || d.MTU != 1500 || d.Qdisc != "tbf" || d.GSOMax == 0 || d.GSOSegs != 65535 || d.Features["tx-tcp-segmentation"] || !d.Features["tx-generic-segmentation"] || d.RPS != nil {
		t.Errorf("devices %+v", p.Devices)
	}
	if len(p.PathMTU) > 0 || p.Rules == nil || *p.Rules != 0 || p.Tracked != nil {
		t.Errorf("%+v", p)
	}
	if v := p.Sysctl["net.ipv4.tcp_rmem"]; len(strings.Fields(v)) != 3 || p.Sysctl["net.ipv4.ip_forward"] != "0" {
		t.Errorf("sysctls %v", p.Sysctl)
	}
	send := func() {
		err := s.Nodes["a"].(*place).ns.Do(func() error {
			c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(far, 9)))
			if err != nil {
				return err
			}
			defer c.Close()
			_, _ = c.Write(make([]byte, 1472)) // nothing listens
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for late := time.Now().Add(5 * time.Second); p.PathMTU == nil && time.Now().Before(late); p = settings() {
		send() // the router's answer takes a moment
	}
	if p.PathMTU[far.String()] != 1400 {
		t.Errorf("path MTUs %v, want 1400 to %v", p.PathMTU, far)
	}

	r, err := s.Nodes["a"].Sample(t.Context(), sample.OfQdisc, sample.OfNetstat)
	if err != nil || !slices.Equal(r.Read, []string{sample.OfQdisc, sample.OfNetstat}) || r.Counters["qdisc.e0.tbf.packets"] == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, ok := r.Counters["qdisc.e1.noqueue.packets"]; ok {
		t.Error("a shows the router's devices")
	}

	if facts.Find("nft") == "" {
		t.Skip("there is no nft to add rules with")
	}
	const rules = "add table ip x; add chain ip x y { type filter hook output priority 0; }; add rule ip x y counter; add rule ip x y ct state new counter; add table inet z; add chain inet z y; add rule inet z y drop; " +
		"add table ip n; add chain ip n y { type nat hook prerouting priority -100; }; add rule ip n y counter; add chain ip x j; add rule ip x j counter"
	if err := s.Nodes["a"].Run(t.Context(), target.Cmd{Argv: []string{"nft", rules}}); err != nil {
		t.Fatal(err)
	}
	send()
	if p = settings(); p.Rules == nil || *p.Rules != 5 || p.Tracked == nil {
		t.Errorf("%v rules and %v connections, want 5 and some: %v", p.Rules, p.Tracked, p.Unknown)
	}
	if p.PacketRules == nil || *p.PacketRules != 3 { // neither NAT's nor one in a chain without a hook
		t.Errorf("each packet can meet %v rules, want 3", p.PacketRules)
	}
	other, err := s.Nodes["b"].Settings(t.Context(), nil, nil)
	if err != nil || other.Rules == nil || *other.Rules != 0 {
		t.Errorf("b has %v rules, %v", other.Rules, err)
	}
}
