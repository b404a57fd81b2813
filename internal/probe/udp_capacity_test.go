package probe

import (
	"strings"
	"testing"
)

func TestGoals(t *testing.T) {
	for _, tc := range []struct {
		p    UDPCapacity
		want string
	}{
		{UDPCapacity{Goals: []string{"0", "0.1%", "0.005"}}, ""},
		{UDPCapacity{Goals: []string{"0", "100%"}}, "goals: 100% is not below 100%"},
		{UDPCapacity{Goals: []string{"0.5%", "0.005"}}, "loss 0.5% is a goal twice"},
		{UDPCapacity{Goals: []string{"0"}, MaxLoss: "1%"}, "max-loss: 1% beside goals"},
		{UDPCapacity{Goals: strings.Fields("0 1% 2% 3% 4% 5% 6% 7% 8%")}, "goals: 9 is outside 1..8"},
	} {
		if err := tc.p.Check(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.p, err, tc.want)
		}
	}
	refuse(t, []refusal{
		{"udp-capacity-goals", `"throughput":`, `"throughput":1e9,"was":`, "bounds and throughput of"},
		{"udp-capacity-goals", `"goals":[{"loss":0,`, `"goals":[{"loss":0.3,`, "the first for a loss of 0"},
	})
}
