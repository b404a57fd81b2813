package finding

import (
	"slices"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

// A loss has the kernel's reasons for drops at its place, on its network, and no others.
func TestBecause(t *testing.T) {
	for _, c := range []struct {
		network, node, dev string
		want               bool
	}{{"vx", "h2p1", "eth0", true}, {"host", "h2p1", "eth0", false}, {"vx", "h2", "eth0", false}} {
		all := Check(analysis.New(watched("udp", func(o observed) {
			o.Nodes["h2p1"]["ip.InDelivers"] -= 280
			o.fail(280)
		})))
		Because(all, c.network, c.node, c.dev, "NETFILTER_DROP", 3)
		for _, f := range all {
			if got := slices.Contains(f.Evidence, lang.T("a trace saw the kernel drop %d packets there: %s", 3, "NETFILTER_DROP")); got != (c.want && f.Rule == atInput) {
				t.Errorf("%s %s %s: %s has %q", c.network, c.node, c.dev, f.Rule, f.Evidence)
			}
		}
		if !slices.ContainsFunc(all, func(f Finding) bool { return f.Rule == atInput }) {
			t.Error("no loss is found")
		}
	}
}
