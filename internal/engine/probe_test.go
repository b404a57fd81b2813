package engine

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/probe"
)

// The engine understands the command lines of the native probes, and they read its output.
func TestNativeProbes(t *testing.T) {
	for _, loopback := range loopbacks {
		t.Run(loopback, func(t *testing.T) {
			if testing.Short() && loopback != loopbacks[0] {
				t.Skip("slow: run without -short")
			}
			addr, _ := serve(t, loopback)
			for _, p := range []probe.Probe{
				probe.TCPStream{CC: "reno"}, probe.TCPStream{Streams: 2, Size: 1000, CC: "reno"}, probe.TCPStream{Streams: 2, CC: "reno", Rate: 1e8},
				probe.UDPStream{}, probe.UDPStream{Size: 5000, Rate: 1e8}, probe.UDPStream{Streams: 2}, probe.UDPRate{Streams: 3, Rate: 1e6}, probe.UDPRate{}, probe.UDPRate{Size: 16, Rate: 1e6},
				probe.TCPStream{CC: "reno", Discard: true, Zerocopy: true, DSCP: 8}, probe.TCPStream{CC: "reno", Sendfile: true}, probe.UDPStream{Send: "gso"},
				probe.UDPStream{Send: "mmsg", Batch: 8, Recv: "single"}, probe.UDPRate{Send: "gso"}, probe.UDPRate{Send: "mmsg", Rate: 1e6},
				probe.TCPRR{CC: "reno"}, probe.TCPRR{CC: "reno", Inflight: 4}, probe.UDPRR{}, probe.UDPRR{Size: 2000, Inflight: 3},
				probe.UDPOpen{}, probe.UDPOpen{Rate: 20000, Size: 18}, probe.TCPCRR{CC: "reno"}, probe.TCPCRR{Size: 5000, CC: "reno"},
				probe.HTTPRR{}, probe.HTTPRR{InFlight: 4, Size: 100_000}, probe.HTTPRR{TLS: true}, probe.HTTPRR{Connect: true}, probe.HTTPRR{Rate: 500, InFlight: 2},
				probe.HTTPRR{Connect: true, TLS: true}, probe.HTTPRR{Connect: true, TLS: true, Resume: true, InFlight: 3}, probe.HTTPRR{H2: true}, probe.HTTPRR{H2: true, InFlight: 8, Rate: 400},
				probe.QUICRR{}, probe.QUICRR{InFlight: 8, Size: 100_000}, probe.QUICRR{InFlight: 4, Rate: 400},
				probe.DNSRR{}, probe.DNSRR{TCP: true, InFlight: 3}, probe.DNSRR{Lookup: true, Rate: 500}, probe.DNSRR{Lookup: true, TCP: true},
			} {
				ask(t, p, addr)
			}
			for _, p := range []probe.Probe{probe.UDPOutage{Rate: 5000, Size: 100}, probe.TCPOutage{CC: "reno"}, probe.ConnectOutage{}} {
				if m, client := askFor(t, p, addr, 50*time.Millisecond); m.Outages == nil || m.Outages.Answered == 0 || len(m.Outages.Timeline.Replies) != 50 {
					t.Errorf("%q: %+v", client, m.Outages)
				}
			}
			t.Run("ping", func(t *testing.T) {
				needICMP(t, netip.MustParseAddrPort(addr).Addr().String())
				ask(t, probe.Ping{}, addr)
			})
		})
	}
}

func ask(t *testing.T, p probe.Probe, addr string) {
	t.Helper()
	// A retransmission timeout, 200 ms, can outlast the shorter window on a busy machine.
	for _, length := range []time.Duration{50 * time.Millisecond, time.Second} {
		if m, client := askFor(t, p, addr, length); len(m.Values) < 3 || m.Observed["tool"] != "weir engine" {
			t.Errorf("%q: %+v", client, m)
			return
		} else if m.Values[0].Value > 0 {
			return
		}
	}
	t.Errorf("%T: nothing arrived within a second", p)
}

func askFor(t *testing.T, p probe.Probe, addr string, length time.Duration) (m probe.Measured, client []string) {
	t.Helper()
	server, client := p.Commands(probe.Window{Server: netip.MustParseAddrPort(addr), MTU: 1450, Warmup: 20 * time.Millisecond, Duration: length})
	if got, want := strings.Join(server, " "), "weir engine serve "+addr+" --open --json"; got != want && got != "" {
		t.Errorf("%+v: server %q, want %q", p, got, want)
	}
	lines, err := run(t, client[2:]...)
	if err == nil {
		m, err = p.Parse(probe.Output{Client: []byte(strings.Join(lines, "\n"))})
	}
	if err != nil {
		t.Errorf("%q: %v", client, err)
	}
	return m, client
}
