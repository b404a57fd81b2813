package probe

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// On machines that weir finds, servers listen on their own address and clients call another one, and
// only a congestion control that the study asks for is set.
func TestFoundMachines(t *testing.T) {
	w := Window{Server: netip.MustParseAddrPort("10.64.1.1:40001"), Call: netip.MustParseAddrPort("10.96.0.1:31001"), DataPort: 40002, Found: true,
		MTU: 1450, Duration: time.Second}
	for _, c := range []struct {
		p    Probe
		asks Probe // the same with a congestion control; nil: it has none
	}{
		{TCPStream{}, TCPStream{CC: "reno"}}, {TCPRR{}, TCPRR{CC: "reno"}}, {TCPCRR{}, TCPCRR{CC: "reno"}}, {UDPStream{}, nil}, {UDPOpen{}, nil}, {UDPOutage{}, nil}, {ConnectOutage{}, nil}, {HTTPRR{}, nil}, {DNSRR{TCP: true}, nil}, {TCPOutage{}, TCPOutage{CC: "reno"}},
		{Iperf3{}, Iperf3{CC: "reno"}}, {Iperf3{UDP: true}, nil}, {Iperf2{}, Iperf2{CC: "reno"}}, {Iperf2Bounceback{}, Iperf2Bounceback{CC: "reno"}},
		{Netperf{}, Netperf{CC: "reno"}}, {NetperfRR{Connect: true}, NetperfRR{Connect: true, CC: "reno"}}, {Nuttcp{}, nil}, {Qperf{}, nil}, {SockperfRR{}, nil},
		{SockperfLoad{TCP: true}, nil}, {Sparkyfish{}, nil}, {NetPIPE{}, nil}, {Ping{}, nil}, {Fping{}, nil},
	} {
		server, client := c.p.Commands(w)
		serve, call := strings.Join(server, " "), strings.Join(client, " ")
		if strings.Contains(serve, "10.96.0.1") || strings.Contains(serve, "31001") || server != nil && !strings.Contains(serve, "40001") {
			t.Errorf("%T: server %s", c.p, serve)
		}
		if strings.Contains(call, "10.64.1.1") || strings.Contains(call, "40001") || !strings.Contains(call, "10.96.0.1") || server != nil && !strings.Contains(call, "31001") {
			t.Errorf("%T: client %s", c.p, call)
		}
		if c.p.Info().SecondPort != strings.Contains(call, "40002") {
			t.Errorf("%T: second port: %s", c.p, call)
		}
		if strings.Contains(call, "cubic") {
			t.Errorf("%T sets a congestion control that nobody asked for: %s", c.p, call)
		}
		if c.asks != nil {
			if _, client := c.asks.Commands(w); !strings.Contains(strings.Join(client, " "), " reno") {
				t.Errorf("%+v: %v", c.asks, client)
			}
		}
	}
}

// There, output with another congestion control than the default is good, and names it if the tool
// does.
func TestFoundCongestionControl(t *testing.T) {
	iperf3 := readIperf3(t, "3.12-tcp")
	for _, c := range []struct {
		tool, from string
		want       string
	}{{"", "3.12-tcp", "bbr"}, {"iperf", "2.1.8-tcp", kernelCCUnset}, {"netperf", "2.7.0-tcp", "bbr"}} {
		out, p := iperf3, Probe(Iperf3{})
		if c.tool != "" {
			r := recordings[slices.IndexFunc(recordings, func(r recording) bool { return r.tool == c.tool })]
			out, p = r.output(t, c.from), r.of(c.from)
		}
		out.Found = true
		out.Client = bytes.ReplaceAll(out.Client, []byte("cubic"), []byte("bbr"))
		if m, err := p.Parse(out); err != nil || m.Observed["congestion"] != c.want {
			t.Errorf("%T: %v, %v, want %q", p, m.Observed, err, c.want)
		}
	}
}
