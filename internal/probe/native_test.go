package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var nativeProbes = map[string]Probe{
	"udp-gso":    UDPStream{Send: "gso"},
	"tcp-stream": TCPStream{}, "udp-stream": UDPStream{}, "udp-rate": UDPRate{},
	"tcp-rr": TCPRR{}, "udp-rr": UDPRR{}, "udp-open": UDPOpen{}, "udp-outage": UDPOutage{}, "tcp-outage": TCPOutage{}, "connect-outage": ConnectOutage{}, "tcp-crr": TCPCRR{}, "ping": Ping{}, "udp-capacity": UDPCapacity{},
	"http-rr": HTTPRR{}, "http-connect": HTTPRR{Connect: true}, "tls-rr": HTTPRR{TLS: true}, "tls-connect": HTTPRR{TLS: true, Connect: true}, "tls-resume": HTTPRR{TLS: true, Connect: true, Resume: true}, "h2-rr": HTTPRR{H2: true, Rate: 500, InFlight: 4}, "grpc-rr": HTTPRR{GRPC: true, InFlight: 2}, "quic-rr": QUICRR{InFlight: 2}, "dns-rr": DNSRR{}, "dns-tcp": DNSRR{TCP: true}, "dns-lookup": DNSRR{Lookup: true},
}

// nativeProbe returns the probe of a recorded file: 1-udp-rr-refused.out belongs to udp-rr.
func nativeProbe(t testing.TB, file string) Probe {
	t.Helper()
	_, name, _ := strings.Cut(filepath.Base(file), "-")
	for known, p := range nativeProbes {
		rest := strings.TrimPrefix(strings.TrimSuffix(name, ".out"), known)
		if strings.HasPrefix(name, known) && (rest == "" || rest[0] == '-') {
			return p
		}
	}
	t.Fatalf("%s is named after no probe", file)
	return nil
}

func recorded(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/native/*.out")
	if err != nil || len(files) < len(nativeProbes) {
		t.Fatalf("%d recorded outputs for %d probes (%v)", len(files), len(nativeProbes), err)
	}
	return files
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// printed formats a golden file: one value per line without histogram, or the error.
func printed(t *testing.T, m Measured, err error) []byte {
	t.Helper()
	if err != nil {
		return []byte("error: " + err.Error() + "\n")
	}
	var b bytes.Buffer
	for _, v := range m.Values {
		if v.Hist != "" {
			v.Hist = "yes"
		}
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	found, err := json.MarshalIndent(m.Observed, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	b.Write(append(found, '\n'))
	return b.Bytes()
}

func TestNativeRecorded(t *testing.T) {
	for _, file := range recorded(t) {
		m, err := nativeProbe(t, file).Parse(Output{Client: read(t, file)})
		checkGolden(t, strings.TrimSuffix(file, ".out")+".golden", printed(t, m, err))
	}
}

func TestNativeCommands(t *testing.T) {
	w := Window{Server: netip.MustParseAddrPort("10.64.1.1:5201"), Warmup: 200 * time.Millisecond, Duration: time.Second}
	const serve = "weir engine serve 10.64.1.1:5201 --open --json"
	for _, tc := range []struct {
		p              Probe
		server, client string
	}{
		{TCPRR{}, serve, "run tcp-rr 10.64.1.1:5201 --duration 1s --warmup 200ms --size 64 --inflight 1 --cc cubic"},
		{TCPRR{Spin: true, Inflight: 3}, serve, "run tcp-rr 10.64.1.1:5201 --duration 1s --warmup 200ms --size 64 --inflight 3 --cc cubic --spin"},
		{UDPRR{Size: 100}, serve, "run udp-rr 10.64.1.1:5201 --duration 1s --warmup 200ms --size 100 --inflight 1"},
		{UDPRR{Spin: true}, serve, "run udp-rr 10.64.1.1:5201 --duration 1s --warmup 200ms --size 64 --inflight 1 --spin"},
		{UDPOpen{}, serve, "run udp-open 10.64.1.1:5201 --duration 1s --warmup 200ms --size 64 --rate 2000"},
		{ConnectOutage{}, serve, "run connect-outage 10.64.1.1:5201 --duration 1s --warmup 200ms --size 64 --rate 500"},
		{TCPOutage{}, serve, "run tcp-outage 10.64.1.1:5201 --duration 1s --warmup 200ms --size 64 --rate 1000 --cc cubic"},
		{UDPOutage{}, serve, "run udp-outage 10.64.1.1:5201 --duration 1s --warmup 200ms --size 64 --rate 2000"},
		{UDPOpen{Rate: 50, Size: 18, Spin: true}, serve, "run udp-open 10.64.1.1:5201 --duration 1s --warmup 200ms --size 18 --rate 50 --spin"},
		{TCPCRR{}, serve, "run tcp-crr 10.64.1.1:5201 --duration 1s --warmup 200ms --size 64 --cc cubic"},
		{TCPStream{}, serve, "run tcp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 1048576 --streams 1 --cc cubic --dscp 0"},
		{TCPStream{Streams: 2, Rate: 1e9}, serve, "run tcp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 131072 --streams 2 --cc cubic --dscp 0 --rate 1e+09"},
		{TCPStream{Streams: 4, Size: 1000, CC: "bbr"}, serve, "run tcp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 1000 --streams 4 --cc bbr --dscp 0"},
		{TCPStream{Discard: true, Zerocopy: true, DSCP: 46}, serve, "run tcp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 1048576 --streams 1 --cc cubic --dscp 46 --discard --zerocopy"},
		{TCPStream{Sendfile: true}, serve, "run tcp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 1048576 --streams 1 --cc cubic --dscp 0 --sendfile"},
		{UDPStream{}, serve, "run udp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 1400 --rate 0 --send single --batch 1 --recv mmsg --nap 50µs"},
		{UDPStream{Size: 9000, Rate: 1e9}, serve, "run udp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 9000 --rate 1e+09 --send single --batch 1 --recv mmsg --nap 0s"},
		{UDPStream{Send: "gso"}, serve, "run udp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 1400 --rate 0 --send gso --batch 46 --recv gro --nap 200µs"},
		{UDPStream{Send: "gso", Batch: 10, Recv: "single"}, serve, "run udp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 1400 --rate 0 --send gso --batch 10 --recv single --nap 50µs"},
		{UDPStream{Streams: 2, Rate: 1e9}, serve, "run udp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 1400 --rate 1e+09 --send single --batch 1 --recv mmsg --nap 0s --streams 2"},
		{UDPRate{Streams: 4}, serve, "run udp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 18 --rate 0 --send single --batch 1 --recv mmsg --nap 50µs --streams 4"},
		{UDPRate{Send: "mmsg"}, serve, "run udp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 18 --rate 0 --send mmsg --batch 32 --recv mmsg --nap 50µs"},
		{UDPRate{Send: "xdp"}, serve, "run udp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 18 --rate 0 --send xdp --batch 32 --recv mmsg --nap 50µs"},
		{UDPRate{Send: "gso"}, serve, "run udp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 18 --rate 0 --send gso --batch 64 --recv gro --nap 200µs"},
		{UDPRate{}, serve, "run udp-stream 10.64.1.1:5201 --duration 1s --warmup 200ms --size 18 --rate 0 --send single --batch 1 --recv mmsg --nap 50µs"},
		{UDPCapacity{}, serve, "run udp-search 10.64.1.1:5201 --duration 5s --warmup 200ms --size 18 --loss 0.5% --width 2% --phase 100ms --send single --batch 1 --recv mmsg --nap 50µs"},
		{UDPCapacity{Goals: []string{"0", "0.001"}}, serve, "run udp-search 10.64.1.1:5201 --duration 8s --warmup 200ms --size 18 --loss 0%,0.1% --width 2% --phase 100ms --send single --batch 1 --recv mmsg --nap 50µs"},
		{UDPCapacity{Size: 1400, MaxLoss: "0", Send: "gso"}, serve, "run udp-search 10.64.1.1:5201 --duration 5s --warmup 200ms --size 1400 --loss 0% --width 2% --phase 100ms --send gso --batch 46 --recv gro --nap 200µs"},
		{Ping{}, "", "ping 10.64.1.1 --duration 1s --warmup 200ms --size 56 --interval 10ms"},
		{Ping{Size: 1000, Interval: time.Second}, "", "ping 10.64.1.1 --duration 1s --warmup 200ms --size 1000 --interval 1s"},
	} {
		server, client := tc.p.Commands(w)
		if got := strings.Join(server, " "); got != tc.server {
			t.Errorf("%+v: server %q, want %q", tc.p, got, tc.server)
		}
		if got := strings.Join(client, " "); got != "weir engine "+tc.client {
			t.Errorf("%+v: client %q, want %q", tc.p, got, tc.client)
		}
	}
}

// Probes reject what the engine would reject, before anything is built.
func TestStreamChecks(t *testing.T) {
	for _, tc := range []struct {
		p    interface{ Check() error }
		want string
	}{
		{TCPStream{}, ""}, {UDPStream{}, ""}, {UDPRate{}, ""},
		{UDPStream{Size: 65507, Send: "gso"}, ""}, {UDPRate{Send: "gso", Batch: 128}, ""}, {UDPRate{Send: "mmsg", Batch: 1024}, ""},
		{UDPCapacity{}, ""}, {UDPCapacity{MaxLoss: "0"}, ""},
		{UDPCapacity{MaxLoss: "100%"}, "max-loss: 100% is not below 100%"},
		{UDPCapacity{MaxLoss: "little"}, "max-loss: share \"little\""},
		{UDPCapacity{Size: 15}, "size: 15 is outside 16..65507 bytes"},
		{TCPStream{DSCP: 64}, "dscp: 64 is outside 0..63"},
		{UDPRate{Size: 15}, "size: 15 is outside 16..65507 bytes"},
		{UDPStream{Size: 65508}, "size: 65508 is outside 16..65507 bytes"},
		{UDPStream{Send: "raw"}, `send: "raw" is not one of single, mmsg, gso`},
		{UDPStream{Recv: "raw"}, `recv: "raw" is not one of single, mmsg, gro`},
		{UDPStream{Batch: 2}, "batch: 2 is outside 1..1 of single"},
		{UDPStream{Batch: -1, Send: "mmsg"}, "batch: -1 is outside 1..1024 of mmsg"},
		{UDPStream{Batch: 129, Send: "gso"}, "batch: 129 is outside 1..128 of gso"},
		{UDPStream{Packets: 7}, ""}, {UDPStream{Packets: 7, Send: "gso"}, ""},
		{UDPStream{Streams: 128, Send: "gso"}, ""}, {UDPRate{Streams: 1, Send: "xdp"}, ""},
		{UDPStream{Streams: -1}, "streams: -1 is outside 1..128"}, {UDPRate{Streams: 129}, "streams: 129 is outside 1..128"},
		{UDPRate{Streams: 2, Send: "xdp"}, "--send xdp with 2 streams: it sends on the first queue of the device"},
		{UDPStream{Packets: -1}, "packets: -1 is not 1 or more"},
		{UDPStream{Packets: 2, Size: 1400}, "packets: 2 determines size and batch"},
		{UDPStream{Packets: 200}, "packets: 200, on a path with an MTU of 576: size: "},
		{UDPStream{Packets: 129, Send: "gso"}, "packets: 129, on a path with an MTU of 576: batch: 129 is outside 1..128 of gso"},
		{UDPStream{Batch: 47, Send: "gso"}, "47 datagrams of 1400 bytes are more than the 65507 of one buffer: at most 46 of this size"},
	} {
		err := tc.p.Check()
		if got := fmt.Sprint(err); tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(got, tc.want)) {
			t.Errorf("%+v: %v, want %q", tc.p, err, tc.want)
		}
	}
}

// A datagram sized in packets fills them: one byte more needs another packet. The sizes over IPv4
// and Ethernet come from A. Zismer, Performance of Docker overlay networks, figure 13.
func TestPackets(t *testing.T) {
	const v4, v6 = "10.64.1.1:5201", "[fd00::1]:5201"
	for _, tc := range []struct {
		server  string
		mtu     int
		p       UDPStream
		size, n string
	}{
		{v4, 1500, UDPStream{Packets: 1}, "1472", "1"},
		{v4, 1500, UDPStream{Packets: 2}, "2952", "1"},
		{v4, 1500, UDPStream{Packets: 7}, "10352", "1"},
		{v4, 1450, UDPStream{Packets: 2}, "2846", "1"}, // 1424 in the first fragment, 1430 in the second
		{v4, 65536, UDPStream{Packets: 1}, "65507", "1"},
		{v6, 1500, UDPStream{Packets: 1}, "1452", "1"},
		{v6, 1500, UDPStream{Packets: 2}, "2892", "1"}, // 1448 and 1452
		{v4, 1500, UDPStream{Packets: 7, Send: "gso"}, "1472", "7"},
		{v6, 1500, UDPStream{Packets: 7, Send: "mmsg"}, "1452", "7"},
	} {
		_, client := tc.p.Commands(Window{Server: netip.MustParseAddrPort(tc.server), MTU: tc.mtu, Duration: time.Second})
		got := strings.Join(client, " ")
		if !strings.Contains(got, " --size "+tc.size+" ") || !strings.Contains(got, " --batch "+tc.n+" ") {
			t.Errorf("%+v at %d: %s, want datagrams of %s bytes, %s per call", tc.p, tc.mtu, got, tc.size, tc.n)
		}
	}
}

func TestNativeFirstValue(t *testing.T) {
	for name, want := range map[string]string{
		"tcp-stream": "throughput bit/s", "udp-stream": "throughput bit/s", "udp-rate": "packet.rate packet/s",
		"tcp-rr": "rtt s", "udp-rr": "rtt s", "udp-open": "rtt s", "udp-outage": "outage s", "tcp-outage": "outage s", "connect-outage": "outage s", "tcp-crr": "rtt s", "ping": "rtt s", "udp-capacity": "capacity packet/s", "http-rr": "rtt s", "tls-resume": "rtt s", "h2-rr": "rtt s", "quic-rr": "rtt s", "dns-lookup": "rtt s",
	} {
		m, err := nativeProbes[name].Parse(Output{Client: read(t, "testdata/native/1-"+name+".out")})
		if err != nil {
			t.Fatal(err)
		}
		first := m.Values[0]
		if i := nativeProbes[name].Info(); i.Unit != first.Unit || i.Datagrams != (m.Protocol != "tcp") {
			t.Errorf("%s: the first value is in %s over %s, Info says %s, and datagrams: %t", name, first.Unit, m.Protocol, i.Unit, i.Datagrams)
		}
		if got := string(first.Name) + " " + first.Unit; got != want {
			t.Errorf("%s: %s first, want %s", name, got, want)
		}
		if (first.Hist != "") != (first.Name == "rtt") {
			t.Errorf("%s: histogram %q", name, first.Hist)
		}
	}
}

func TestNativeRefuses(t *testing.T) {
	refuse(t, []refusal{
		{"udp-stream", `{"event":"begin"}` + "\n", "", "unexpected line"},
		{"udp-stream", `{"event":"end"}` + "\n", "", "want begin, end and a result"},
		{"udp-stream", `{"event":"begin"}`, `{"event":"begin"}` + "\n" + `{"event":"begin"}`, "unexpected line"},
		{"udp-stream", `"event":"result"`, `"event":"rumour"`, "unexpected line"},
		{"udp-stream", `"engine":1`, `"engine":2`, "version 2"},
		{"udp-stream", `"workload":"udp-stream"`, `"workload":"udp-rr"`, `result of "udp-rr", not of udp-stream`},
		{"udp-stream", `"offered":`, `"offered":1,"was":`, "goes up"},
		{"udp-stream", `"sent":`, `"sent":0,"was":`, "impossible"},
		{"udp-stream", `"delivered":`, `"delivered":99999999,"was":`, "goes up"},
		{"udp-stream", `"delivered":`, `"delivered":-1,"was":`, "delivered is -1"},
		{"udp-stream", `"delivered":`, `"delivered":1.5,"was":`, "not a count"},
		{"udp-stream", `"delivered":`, `"was":`, "delivered is missing"},
		{"udp-stream", `"delivered":`, `"delivered":null,"was":`, "delivered is missing"},
		{"udp-stream", `"delivered":`, `"delivered":"1","was":`, "not a count"},
		{"udp-stream", `"delivered":`, `"delivered":NaN,"was":`, "invalid character"},
		{"udp-stream", `"window":`, `"window":1e999,"was":`, "window: "},
		{"udp-stream", `"window":`, `"window":0,"was":`, "window is 0 s"},
		{"udp-stream", `"window":`, `"window":-1,"was":`, "window is -1"},
		{"udp-stream", `"jitter":`, `"jitter":-1,"was":`, "jitter is -1"},
		{"udp-stream", `"silence":`, `"silence":9,"was":`, "a silence of 9 s in"},
		{"udp-stream", `"silence":`, `"was":`, "silence is missing"},
		{"tcp-stream", `"silence":`, `"silence":9,"was":`, "a silence of 9 s in 0.2 s"},
		{"tcp-stream", `"silence":`, `"was":`, "silence is missing"},
		{"udp-stream", `"dropped":`, `"dropped":1,"was":`, "dropped in between 1"},
		{"udp-stream", `"bytes":`, `"bytes":1,"was":`, "1 bytes in"},
		{"udp-stream", `"reordered":`, `"reordered":99999999,"was":`, "reordered 99999999"},
		{"udp-stream", `"send":`, `"was":`, "send is missing"},
		{"udp-stream", `"recv":`, `"was":`, "recv is missing"},
		{"udp-stream", `"batch":`, `"batch":0.5,"was":`, "not a count"},
		{"udp-stream", `"nap":`, `"nap":-1,"was":`, "nap is -1"},
		{"tcp-stream", `"recv":`, `"was":`, "recv is missing"},
		{"tcp-stream", `"window":`, `"window":1e-305,"was":`, "throughput is +Inf"},
		{"tcp-stream", `"retransmits":`, `"was":`, "retransmits is missing"},
		{"tcp-stream", `"congestion":`, `"was":`, "congestion is missing"},
		{"tcp-rr", `"transactions":`, `"transactions":1,"was":`, "impossible"},
		{"tcp-crr", `"window":`, `"window":1e-9,"was":`, "a transaction of"},
		{"tcp-rr", `"requests":`, `"requests":1,"was":`, "1 requests"},
		{"tcp-rr", `"hist":"HIST`, `"hist":"hist`, "hist: "},
		{"udp-rr", `"pathHist":"HIST`, `"pathHist":"hist`, "pathHist: "},
		{"udp-rr", `"pathHist":`, `"was":`, "pathHist is missing"},
		{"udp-rr", `"stamps":`, `"was":`, "stamps is missing"},
		{"udp-rr", `"stamped":`, `"stamped":1,"was":`, "pathHist of"},
		{"udp-rr", `"impossible":`, `"impossible":-1,"was":`, "impossible is -1"},
		{"udp-rr", `"wait":"blocking"`, `"wait":"spinning"`, "cpu is missing"},
		{"udp-open", `"offered":`, `"offered":1,"was":`, "requests sent of 1"},
		{"udp-open", `"lateSends":`, `"lateSends":99999999,"was":`, "99999999 requests late"},
		{"udp-open", `"stalls":`, `"stalls":99999999,"was":`, "99999999 stalls"},
		{"udp-open", `"rate":`, `"rate":-1,"was":`, "rate is -1"},
		{"connect-outage", `"errors":{}`, `"errors":{"ECONNRESET":-1}`, "-1 times ECONNRESET"},
		{"connect-outage", `"errors":{}`, `"errors":{"ECONNRESET":1}`, "1 connections failed and 0 were given up, of 0"},
		{"tcp-outage-broken", `"at":`, `"at":1,"was":`, "broken at 1, before the window"},
		{"udp-outage", `"requests":`, `"requests":1,"was":`, "impossible: 1 requests, "},
		{"udp-outage", `"offered":`, `"offered":1,"was":`, "requests sent of 1"},
		{"udp-outage", `"socket":0`, `"socket":-1`, "impossible: "},
		{"udp-outage", `"bin":1000000`, `"bin":0`, "in 200 bins of 0 ns"},
		{"udp-outage", `"replies":[`, `"replies":[400,`, "in 201 bins of 1000000 ns, of "},
		{"udp-outage", `"longest":0`, `"longest":1`, "round trip: 0 gaps"},
		{"udp-outage-ways", `"length":`, `"length":1,"was":`, "impossible: round trip: 2 gaps"},
		{"udp-outage-ways", `"begin":`, `"begin":99999999999999,"was":`, "impossible: round trip: a gap of"},
		{"tcp-crr", `"connectHist":`, `"was":`, "connectHist is missing"},
		{"tcp-rr", `"hist":`, `"hist":"","was":`, "hist is missing"},
		{"tcp-rr", `"window":`, `"window":1e-9,"was":`, "a transaction of"},
		{"udp-capacity", `"lower":`, `"lower":1,"was":`, "1 packet/s are in no phase at"},
		{"udp-capacity", `"lower":`, `"lower":0,"was":`, "with a loss of at most 0.5%"},
		{"udp-capacity", `"load":`, `"load":1,"was":`, "in no phase at 1"},
		{"udp-capacity", `"upper":`, `"upper":1,"was":`, "and lost at 1"},
		{"udp-capacity", `"limit":`, `"was":`, "limit is missing"},
		{"udp-capacity", `"phases":`, `"phases":[],"was":`, "in no phase"},
		{"udp-capacity", `"sent":`, `"sent":1,"was":`, "goes up"},
		{"udp-capacity", `"delivered":`, `"delivered":-1,"was":`, "goes up"},
		{"udp-capacity", `"queue":`, `"queue":-1,"was":`, "impossible: phase 1"},
		{"udp-capacity", `"asked":`, `"asked":-1,"was":`, "impossible: phase 1"},
		{"ping", `"lost":`, `"lost":1,"was":`, "20 requests, 20 answered, 1 lost"},
		{"ping", "}\n", "}\n{}\n", "unexpected line"},
	})
}

// A refusal is why a recorded output with a change is refused.
type refusal struct{ file, from, to, want string }

func refuse(t *testing.T, cases []refusal) {
	t.Helper()
	for _, tc := range cases {
		out := read(t, "testdata/native/1-"+tc.file+".out")
		bad := bytes.Replace(out, []byte(tc.from), []byte(tc.to), 1)
		if bytes.Equal(bad, out) {
			t.Fatalf("%s has no %s", tc.file, tc.from)
		}
		m, err := nativeProbe(t, "1-"+tc.file+".out").Parse(Output{Client: bad})
		if err == nil || !strings.Contains(err.Error(), tc.want) || len(m.Values) > 0 {
			t.Errorf("%s with %s: %v, want %q", tc.file, tc.to, err, tc.want)
		}
	}
}

func TestNativeTruncated(t *testing.T) {
	for _, file := range recorded(t) {
		out := bytes.TrimSpace(read(t, file))
		for n := range len(out) {
			if m, err := nativeProbe(t, file).Parse(Output{Client: out[:n]}); err == nil {
				t.Fatalf("%s: %d of %d bytes gave %v", file, n, len(out), m.Values)
			}
		}
		if _, err := nativeProbe(t, file).Parse(Output{Client: append(out, "\n{}"...)}); err == nil {
			t.Errorf("%s: output after the result was accepted", file)
		}
	}
}

func FuzzNativeParse(f *testing.F) {
	for _, file := range recorded(f) {
		f.Add(read(f, file))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		for name, p := range nativeProbes {
			m, err := p.Parse(Output{Client: out})
			if (err == nil) != (len(m.Values) > 0) {
				t.Fatalf("%s: %d values and error %v", name, len(m.Values), err)
			}
			for _, v := range m.Values {
				if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Value < 0 || v.Name == "" || v.Unit == "" {
					t.Fatalf("%s: %+v", name, v)
				}
			}
		}
	})
}
