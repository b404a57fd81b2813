package probe

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestWebCommands(t *testing.T) {
	w := Window{Server: netip.MustParseAddrPort("10.64.1.1:5201"), MTU: 1450, Duration: time.Second}
	for _, tc := range []struct {
		p    Probe
		want string
	}{
		{HTTPRR{}, "http-rr --size 64 --inflight 1 --cc cubic"},
		{HTTPRR{TLS: true, Connect: true, Resume: true, Size: 1000, InFlight: 8, Rate: 1000000}, "http-connect --size 1000 --inflight 8 --cc cubic --rate 1000000 --tls --resume"},
		{HTTPRR{H2: true}, "h2-rr --size 64 --inflight 1 --cc cubic"},
		{QUICRR{}, "quic-rr --size 64 --inflight 1 --cc cubic --packet 1422"},
		{QUICRR{Size: 5000, InFlight: 3, Rate: 100}, "quic-rr --size 5000 --inflight 3 --cc cubic --rate 100 --packet 1422"},
		{DNSRR{}, "dns-rr --size 64 --inflight 1 --cc cubic"},
		{DNSRR{Lookup: true, TCP: true}, "dns-lookup --size 64 --inflight 1 --cc cubic --tcp"},
	} {
		_, client := tc.p.Commands(w)
		name, flags, _ := strings.Cut(tc.want, " ")
		if got := strings.Join(client, " "); got != "weir engine run "+name+" 10.64.1.1:5201 --duration 1s --warmup 0s "+flags {
			t.Errorf("%+v: %s, want %s", tc.p, got, tc.want)
		}
	}
}

func TestWebRefuses(t *testing.T) {
	refuse(t, []refusal{
		{"http-rr", `"offered":0`, `"offered":1`, "and there was none"},
		{"http-rr", `"renewed":0`, `"renewed":99999999`, "99999999 new connections in"},
		{"http-rr", `"inflight":1`, `"inflight":2`, "2 requests in flight, asked for 1"},
		{"tls-connect", `"resumed":0`, `"resumed":1`, "1 of"},
		{"tls-resume", `"resumed":`, `"resumed":1,"was":`, "resumed a session (asked for: true)"},
		{"tls-connect", `"connectHist":`, `"was":`, "connectHist is missing"},
		{"tls-connect", `"handshakeHist":"HIST`, `"handshakeHist":"hist`, "handshakeHist: "},
		{"h2-rr", `"lateSends":`, `"lateSends":99999999,"was":`, "99999999 late"},
		{"quic-rr", `"packet":1422`, `"packet":1500`, "packets of 1500 bytes"},
		{"quic-rr", `"packet":1422`, `"packets":1422`, "packets of 0 bytes"},
		{"dns-rr", `"sndbuf":0`, `"congestion":"cubic","sndbuf":0`, "TCP is false"},
	})
}
