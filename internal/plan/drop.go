package plan

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
)

// A Drop drops packets at a device, in both directions, as a firewall does: those from and to With, or all.
type Drop struct {
	Dev string `json:"dev"`
	// With is whom the packets come from or go to; without it, everything is dropped, also what is not of IP.
	With netip.Prefix `json:"with,omitzero"`
	Gone bool         `json:"gone,omitempty"` // stop it instead
}

// Argv is the command line of nft(8) that carries it out in one transaction; again, it changes nothing. A device has a hook for what
// arrives since Linux 4.2, and for what leaves since 5.16 (NF_NETDEV_EGRESS, include/uapi/linux/netfilter.h).
func (d Drop) Argv() []string {
	what, family, policy := d.Dev, "ip", "drop"
	if d.With.IsValid() {
		what, policy = what+" "+d.With.String(), "accept"
		if d.With.Addr().Is6() {
			family = "ip6"
		}
	}
	table := "netdev weir-drop-" + hex.EncodeToString([]byte(what))
	commands := []string{"add table " + table, "delete table " + table} // the first one lets the second succeed
	if !d.Gone {
		commands = append(commands, "add table "+table)
		for _, x := range []struct{ hook, end string }{{"ingress", "saddr"}, {"egress", "daddr"}} {
			commands = append(commands, fmt.Sprintf("add chain %s %s { type filter hook %[2]s device %q priority 0; policy %s; }", table, x.hook, d.Dev, policy))
			if d.With.IsValid() {
				commands = append(commands, fmt.Sprintf("add rule %s %s %s %s %v drop", table, x.hook, family, x.end, d.With.Masked()))
			}
		}
	}
	return []string{"nft", strings.Join(commands, "; ")}
}
