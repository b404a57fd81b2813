package explain

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/record"
)

// A cost by the ends' own threads says what others add: programs of the path, and threads of the kernel that are busier
// than on the baseline.
func TestOthersAddToACost(t *testing.T) {
	rs, o := built("host", "vxlan-overlay")
	for i := range rs {
		r := &rs[i]
		idle := 0.03
		if r.Config["network"] == "vxlan-overlay" {
			idle = 0.33
		}
		r.Values = append(r.Values, record.CPUThread.Thread("", "ksoftirqd", "1").Value("core", idle), record.CPUThread.Thread("h1", "python3", "").Value("core", 10*idle))
	}
	switching := finding.Finding{Rule: "service-in-path", Cells: cellsOf("vxlan-overlay", "udp-stream"), Place: "h1", Subject: "flanneld in h1", Text: "carries",
		Number: one("CPU time per packet", "s/packet", 20e-6, 20e-6)}
	got := run(rs, o, switching).costs("vxlan-overlay")[0].Text.String()
	if !strings.Contains(got, "a datagram 9.63 µs instead of 4.35 µs, 2.22× [2.18, 2.25] (UDP). Other threads add at least: ksoftirqd/1 71.5 ns (TCP), flanneld in h1 20 µs per packet (UDP), ksoftirqd/1 2.0") ||
		strings.Contains(got, "python3") || !strings.Contains(got, "costs the sending and receiving threads") {
		t.Errorf("%q", got)
	}
}
