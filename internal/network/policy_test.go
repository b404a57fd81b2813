package network

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/topo"
)

// Every rule is loaded exactly once, and no command exceeds an ordinary user's socket buffer.
func TestPolicyInParts(t *testing.T) {
	hosts, err := topo.New(topo.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	for _, rules := range []int{1, rulesAtOnce, rulesAtOnce + 1, maxRules} {
		seen, files := map[string]bool{}, map[string]bool{}
		for _, s := range policy(hosts.Hosts[0], rules) {
			if s.File == nil {
				continue
			}
			if files[s.File.Name] {
				t.Errorf("%d rules: %s is written more than once", rules, s.File.Name)
			}
			files[s.File.Name] = true
			if n := strings.Count(s.File.Content, " drop\n"); n > rulesAtOnce {
				t.Errorf("%d rules: %d in %s", rules, n, s.File.Name)
			}
			for _, line := range strings.Split(s.File.Content, "\n") {
				if strings.HasSuffix(line, " drop") {
					seen[line] = true
				}
			}
		}
		if len(seen) != rules {
			t.Errorf("%d distinct rules of %d", len(seen), rules)
		}
	}
}
