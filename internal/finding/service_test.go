package finding

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/record"
)

// Only programs that the plan declares carry packets, and what they use without packets is no cost of one.
func TestServiceInPath(t *testing.T) {
	vswitchd := map[string][]string{"h1": {"ovs-vswitchd"}}
	for _, c := range []struct {
		name   string
		change func(observed)
		want   string // "" for no finding
	}{
		{"a daemon beside the path", func(o observed) { o.uses("containerd", 0.5) }, ""},
		{"the clock of a foreign tool", func(o observed) { o.Values = append(o.Values, record.CPUTool.At("client").Value("core", 0.9)) }, ""},
		{"a manager that is not declared", func(o observed) { o.uses("ovs-vswitchd", 0.5) }, ""},
		{"idle wake-ups beside few packets", func(o observed) {
			o.Carriers = vswitchd
			o.uses("ovs-vswitchd", 0.02)
			o.set(record.PacketRate, "packet/s", 58)
		}, "ovs-vswitchd in h1 carries the packets in user space"},
		{"packets that were lost", func(o observed) {
			o.Carriers = vswitchd
			o.uses("ovs-vswitchd", 0.83)
			o.set(record.Sent, "packet/s", 4e5)
			o.set(record.PacketRate, "packet/s", 8e4)
		}, "ovs-vswitchd in h1 carries the packets in user space: 2 µs of CPU time per packet"},
		{"a switch by AF_XDP", func(o observed) {
			o.Carriers = map[string][]string{"h1": {"weir-redirect-af-xdp"}, "h2": {"weir-redirect-af-xdp"}}
			o.thread("h1", "weir-redirect-af-xdp", "", 0.13)
			o.thread("h2", "weir-redirect-af-xdp", "", 0.23)
		}, "weir-redirect-af-xdp in h1 carries the packets in user space: 1 µs of CPU time per packet; weir-redirect-af-xdp in h2 carries the packets in user space: 2 µs of CPU time per packet"},
	} {
		var found []string
		for _, f := range Check(analysis.New(watched("udp", c.change))) {
			if f.Rule == "service-in-path" {
				found = append(found, f.Text.String())
			}
		}
		if got := strings.Join(found, "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Both directions of a probe without a rate of packets pass the program.
func TestPacketRateOfRequests(t *testing.T) {
	e, _ := healthy("tcp")
	e.Path[0].Back = e.Path[0].Data
	o := analysis.Observed{Result: &sound(1)[0], Evidence: e}
	if got, want := packetRate(o), 2*sentPackets/e.Seconds; got != want {
		t.Errorf("%g, want %g", got, want)
	}
}
