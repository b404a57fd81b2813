package experiment

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// Three clients of one server, each on its own host, do what one does, for every native probe.
func TestClientsInTheLab(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	probes := map[string]probe.Probe{
		"tcp-stream": &probe.TCPStream{CC: "reno"}, "udp-stream": &probe.UDPStream{Rate: 1e6}, "udp-rate": &probe.UDPRate{},
		"tcp-rr": &probe.TCPRR{CC: "reno"}, "tcp-crr": &probe.TCPCRR{CC: "reno"}, "udp-rr": &probe.UDPRR{}, "udp-open": &probe.UDPOpen{},
	}
	s := labStudy(2)
	s.Networks, s.Baseline, s.Probes, s.Swap = s.Networks[1:], "vxlan-overlay", nil, true
	s.Factors = map[string][]string{"clients": {"1", "3"}}
	for name := range probes {
		s.Probes = append(s.Probes, study.Use{Kind: name, Name: name})
	}
	s.Duration = 250 * time.Millisecond // longer than a retransmission timeout
	c := labConfig(t, s, results(t, filepath.Join(t.TempDir(), "out")), topo.Spec{Hosts: 4})
	c.Probe = func(name string, _ map[string]string) (probe.Probe, error) { return probes[name], nil }
	rs, err := measured(t.Context(), c)
	if err != nil || len(rs) != 2*2*len(probes) {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	for _, r := range rs {
		if r.Status != record.OK {
			t.Errorf("%s is %s: %s", r.Trial, r.Status, r.Reason)
			continue
		}
		one := r.Config["clients"] == "1"
		all, _ := r.Get("clients.delivered")
		least, _ := r.Get("clients.least")
		most, _ := r.Get("clients.most")
		if all.Value <= 0 || all.Unit != probes[r.Config["probe"]].Info().DeliveryUnit || one != (least.Value == 1) ||
			least.Value < 0 || least.Value > most.Value || most.Value > 1 {
			t.Errorf("%s: %+v, of it %g to %g", r.Trial, all, least.Value, most.Value)
		}
		want := [3]string{"h1p1", "h2p1", "h3p1"} // the server is h4p1
		if s.Swapped(r.Block) {
			want[0] = "h4p1"
		}
		if one {
			want[1], want[2] = "", ""
		}
		var ran struct{ ClientNode, Beside1Node, Beside2Node string }
		b, err := c.Dir.ReadFile("raw/" + r.Trial + "/commands.json")
		if err == nil {
			err = json.Unmarshal(b, &ran)
		}
		got := [3]string{ran.ClientNode, ran.Beside1Node, ran.Beside2Node}
		if err != nil || got != want {
			t.Errorf("%s: clients on %q, want %q, %v", r.Trial, got, want, err)
		}
	}
}
