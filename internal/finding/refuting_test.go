package finding

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

// A program in the path is tested by a network on which the kernel does its work, if weir has one.
func TestServiceTest(t *testing.T) {
	for network, want := range map[string]string{"relay": "vxlan-overlay cpu.per.bit 0.75 ", "vx": "weir has no network on which"} {
		rs, o := watched("udp", func(o observed) {
			o.Carriers = map[string][]string{"h1": {"weir-relay"}}
			o.thread("h1", "weir-relay", "", 0.73)
			o.set(record.CPUOwn, "core", 0.7)
		})
		for i := range rs {
			if rs[i].Config["network"] == "vx" {
				rs[i].Config["network"] = network
			}
		}
		got := ""
		for _, f := range Check(analysis.New(rs, o)) {
			if f.Rule != "service-in-path" {
				continue
			}
			if got = f.Untestable.String(); f.Test != nil {
				got += fmt.Sprintf("%s %s %.2f ", f.Test.Network, f.Test.Metric, f.Test.Factor)
			}
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", network, got, want)
		}
	}
}

// The engine is tested by an option that makes only the engine cheaper.
func TestCheaper(t *testing.T) {
	for _, c := range []struct {
		observed map[string]string
		full     lang.Text
		want     string
	}{
		{map[string]string{"tool": "weir engine", "send": "single"}, "engine client", "map[send:mmsg]"},
		{map[string]string{"tool": "weir engine", "send": "mmsg"}, "engine client", "map[]"},
		{map[string]string{"tool": "weir engine", "send": "copy", "recv": "copy", "mss": "1398"}, "engine server", "map[discard:true]"},
		{map[string]string{"tool": "weir engine", "send": "copy", "recv": "discard", "mss": "1398"}, "engine server", "map[]"},
		{map[string]string{"tool": "iperf 3.12"}, "engine client", "map[]"},
	} {
		if got, _ := cheaper(&analysis.Row{Observed: c.observed}, c.full); fmt.Sprint(got) != c.want {
			t.Errorf("%v, %s full: %v, want %s", c.observed, c.full, got, c.want)
		}
	}
}
