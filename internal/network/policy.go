package network

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// maxRules is how many rules of policy a host may have.
const maxRules = 10000

// rulesAtOnce fit the send buffer of nft's socket (net.core.wmem_default, 208 KiB), which
// only root may enlarge: more are refused with "Message too long".
const rulesAtOnce = 250

// checkRules returns an error unless a host may have so many rules.
func checkRules(name string, rules int) error {
	if rules < 0 || rules > maxRules {
		return fmt.Errorf("%s: %d rules is outside 0..%d", name, rules, maxRules)
	}
	return nil
}

// policy gives h rules, in the order of nftables' forward hook, each of which a
// forwarded packet is compared with and none of which it matches: it costs what a
// network policy costs that is a list. Sources are of ranges that no packet has
// (240.0.0.0/4, RFC 1112, section 4; 100::/64, RFC 6666).
//
// Note: real policies accept what belongs to a connection first, or look up sets.
// Both are there to avoid this cost.
func policy(name string, h topo.Host, rules int) ([]plan.Step, error) {
	if err := checkRules(name, rules); err != nil {
		return nil, err
	}
	if rules == 0 {
		return nil, nil
	}
	family, source := "ip", netip.MustParseAddr("240.0.0.0")
	if is6(h.PodNet.Addr()) {
		family, source = "ip6", netip.MustParseAddr("100::")
	}
	var steps []plan.Step
	for first := 0; first < rules; first += rulesAtOnce {
		var b strings.Builder
		b.WriteString("table inet weir {\n\tchain forward {\n\t\ttype filter hook forward priority filter; policy accept;\n")
		for range min(rulesAtOnce, rules-first) {
			source = source.Next()
			fmt.Fprintf(&b, "\t\t%s saddr %v drop\n", family, source)
		}
		b.WriteString("\t}\n}\n")
		file := "policy.nft"
		if first > 0 { // what is declared again gets more rules
			file = fmt.Sprintf("policy-%d.nft", first/rulesAtOnce+1)
		}
		steps = append(steps,
			plan.Step{In: h.Name, File: &plan.File{Name: file, Content: b.String()}},
			plan.Step{In: h.Name, Exec: &plan.Exec{Argv: []string{"nft", "-f", plan.Dir + "/" + file}}})
	}
	return append(steps, plan.Step{In: h.Name, Exec: &plan.Exec{Argv: []string{"nft", "--version"}, Found: "nft.version"}}), nil
}
