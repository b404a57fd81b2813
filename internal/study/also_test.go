package study

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/plan"
)

const faulty = `
networks:
  - host
  - use: vxlan-overlay
    name: faulty
    also:
      - {in: h1, offload: {dev: eth0, features: {tx-udp_tnl-segmentation: false}}}
      - in: h1p1
        exec:
          argv: [tc, qdisc, replace, dev, eth0, root, tbf, rate, 1gbit]
      - in: h2
        link: {name: a, kind: veth, peer: b, peerIn: h2p1}
      - {in: h2p1, addr: {dev: b, prefix: 10.0.0.1/24}}
      - {in: h2, rate: {dev: eth0, rate: 1e9}}
      - {in: h2, sysctl: {key: net.ipv4.tcp_rmem, value: 4096 4096 4096}}
probes: [p]
`

var steps = []plan.Step{
	{In: "h1", Offload: &plan.Offload{Dev: "eth0", Features: map[string]bool{"tx-udp_tnl-segmentation": false}}},
	{In: "h1p1", Exec: &plan.Exec{Argv: []string{"tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", "1gbit"}}},
	{In: "h2", Link: &plan.Link{Name: "a", Kind: "veth", Peer: "b", PeerIn: "h2p1"}},
	{In: "h2p1", Addr: &plan.Addr{Dev: "b", Prefix: netip.MustParsePrefix("10.0.0.1/24")}},
	{In: "h2", Rate: &plan.Rate{Dev: "eth0", Rate: 1e9}},
	{In: "h2", Sysctl: &plan.Sysctl{Key: "net.ipv4.tcp_rmem", Value: "4096 4096 4096"}},
}

// Steps come from a file, a command line, a stored study and And alike.
func TestAlso(t *testing.T) {
	s, err := Load([]byte(faulty), "f")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(stored, "f")
	if err != nil {
		t.Fatal(err)
	}
	typed, err := ParseUse(s.Networks[1].String())
	if err != nil {
		t.Fatal(err)
	}
	quoted := plan.Step{In: "h1", Exec: &plan.Exec{Argv: []string{"nft", "table inet t { chain c { type filter hook input priority 0; ip saddr & 1 == \"x\" drop; } }\n"}}}
	for name, u := range map[string]Use{
		"file": s.Networks[1], "stored": again.Networks[1], "command line": typed,
		"and": Use{Kind: "vxlan-overlay"}.And(steps...), "and after some": Use{Kind: "vxlan-overlay"}.And(steps[:2]...).And(steps[2:]...),
	} {
		got, err := u.Also()
		if err != nil || !reflect.DeepEqual(got, steps) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, steps)
		}
		more := u.And(quoted)
		if got, err = more.Also(); err != nil || len(got) != len(steps)+1 || !reflect.DeepEqual(got[len(steps)], quoted) {
			t.Errorf("%s, with one more: %v, %v", name, got, err)
		}
		if got, _ = u.Also(); len(got) != len(steps) {
			t.Errorf("%s: And changed its receiver: %v", name, got)
		}
	}
	if got, err := s.Networks[0].Also(); got != nil || err != nil {
		t.Errorf("without the option: %v, %v", got, err)
	}
}

func TestAlsoErrors(t *testing.T) {
	for options, want := range map[string]string{
		"also:\n  - {in: h1, set: {dev: eth0, mtu: 1400}}\n  - in: h1\n    ofload: {}": `f:6: vxlan: also: step 2: a step has no key "ofload": did you mean "offload"?`,
		"also:\n  - in: h1\n    set: {dev: eth0, mtuu: 1400}":                          `f:5: vxlan: also: step 1: set has no key "mtuu": did you mean "mtu"? (known: dev, `,
		"also: [{in: h1, set: {dev: eth0, mtu: many}}]":                                `f:4: vxlan: also: step 1: mtu: invalid integer "many"`,
		"also: {in: h1}": "f:4: vxlan: also must be a list of steps, as in [{in: h1, set: {dev: eth0, mtu: 1400}}], not a mapping",
		"also: [h1]":     "f:4: vxlan: also: step 1: a step must be a mapping, as in {key: value}, not text",
	} {
		_, err := use(t, options).Also()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", options, err, want)
		}
	}
}
