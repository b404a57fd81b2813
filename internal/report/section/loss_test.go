package section

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// A network that stalls is not flattered: every form of the report says in how many trials it stalled, and
// what it delivered over all windows.
func TestStalledNetwork(t *testing.T) {
	r := reporttest.Run(t)
	for i := range r.Results {
		if x := &r.Results[i]; x.Config["network"] == "bridge" && x.Config["probe"] == "udp-stream" && x.Block%6 == 1 {
			x.Values = append([]record.Value{{Name: "throughput", Unit: "bit/s"}}, x.Values[1:]...)
		}
	}
	for _, name := range []string{"text", "markdown", "html"} {
		s := strings.Join(strings.Fields(write(t, writers[name], r)), " ")
		for _, want := range []string{"stalled in 2 of 12 trials", "nothing arrived, and they count as the worst; over all windows it delivered 0.7"} {
			if !strings.Contains(s, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
}

// A ping prints what ping(8) does.
func TestEchoColumns(t *testing.T) {
	r := reporttest.Run(t)
	for i := range r.Results {
		if x := &r.Results[i]; x.Config["probe"] == "udp-rr" && x.Status == record.OK {
			x.Values = append(x.Values[:len(x.Values):len(x.Values)], record.Value{Name: "rtt.mdev", Unit: "s", Value: 1e-6})
		}
	}
	if s := write(t, writers["markdown"], r); !strings.Contains(s, "| min, µs | mean, µs | max, µs | mdev, µs |") {
		t.Errorf("no line of ping:\n%s", s)
	}
}
