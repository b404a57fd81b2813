package network

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// maxRules is how many policy rules a host can have.
const maxRules = 10000

// rulesAtOnce rules fit into the send buffer of nft's socket (net.core.wmem_default,
// 208 KiB), which only root can enlarge; with more, nft fails with "Message too long".
const rulesAtOnce = 250

func checkRules(name string, rules int) error { return checkRange(name, "rules", rules, 0, maxRules) }

// policy gives h rules in nftables' forward hook. Every forwarded packet is compared
// with each of them and matches none, so they cost as much as a network policy that
// is a list. Their sources are in ranges that no packet comes from (240.0.0.0/4, RFC
// 1112, section 4; 100::/64, RFC 6666).
//
// Note: real policies first accept packets of known connections, or look up sets.
// Both exist to avoid this cost.
func policy(h topo.Host, rules int) []plan.Step {
	if rules == 0 {
		return nil
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
		if first > 0 { // declaring the chain again adds rules to it
			file = fmt.Sprintf("policy-%d.nft", first/rulesAtOnce+1)
		}
		steps = append(steps,
			plan.Step{In: h.Name, File: &plan.File{Name: file, Content: b.String()}},
			run(h, "nft", "-f", plan.Dir+"/"+file))
	}
	return append(steps, find(h, "nft.version", "nft", "--version"))
}
