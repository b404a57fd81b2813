package clustertest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weir-bench/weir/record"
)

// A NetworkPolicy that blocks the probes' ports between pods is named by what it drops, with the ports to open.
// Flannel enforces no policy. In its place, a rule on each node drops what the node forwards to these
// ports, without an answer, as enforcers do. No other test uses them.
func TestNetworkPolicy(t *testing.T) {
	need(t)
	t.Parallel()
	for i, c := range []struct{ name, match, says string }{
		{"all", "meta l4proto { tcp, udp } th dport", "TCP does not get from "},
		{"udp", "udp dport", "UDP does not get from "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ports := fmt.Sprintf("%d-%d", 6201+100*i, 6299+100*i)
			for _, node := range []string{"node1", "node2"} {
				inNode(t, node, "nft", fmt.Sprintf("table inet policy-%s { chain forward { type filter hook forward priority 0; %s %s counter drop; }; }", c.name, c.match, ports))
			}
			m := measure(t, "--image", os.Getenv("WEIR_IMAGE"), "-n", "host,pod", "--port", ports, "-p", "udp-rr", "--blocks", "1", "--duration", "100ms")
			if status := m.status(t); status != 3 {
				t.Errorf("status %d, want 3; weir printed:\n%s", status, &m.out)
			}
			seen := map[string]int{}
			for _, r := range m.results(t) {
				seen[r.Config["network"]]++
				switch r.Config["network"] {
				case "host":
					if r.Status != record.OK {
						t.Errorf("%s: %s: %s", r.Trial, r.Status, r.Reason)
					}
				case "pod":
					for _, want := range []string{c.says, "(10.244.", "open ports " + ports + ", TCP and UDP, from 10.244.", "network policies"} {
						if r.Status != record.Skipped || !strings.Contains(r.Reason, want) {
							t.Errorf("%s: %s, without %q: %s", r.Trial, r.Status, want, r.Reason)
						}
					}
				}
			}
			if seen["host"] != 1 || seen["pod"] != 1 {
				t.Errorf("trials %v, want one of each network; weir printed:\n%s", seen, &m.out)
			}
			if dropped := inNode(t, "node1", "nft", "list", "table", "inet", "policy-"+c.name) + inNode(t, "node2", "nft", "list", "table", "inet", "policy-"+c.name); strings.Count(dropped, "counter packets 0 ") == 2 {
				t.Errorf("the rules have dropped nothing:\n%s", dropped)
			}
		})
	}
}
