package probe

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

func iperf3For(name string) Iperf3 {
	p := Iperf3{UDP: strings.Contains(name, "-udp"), Reverse: strings.HasSuffix(name, "-reverse"), GSO: strings.HasSuffix(name, "-gso")}
	if strings.HasSuffix(name, "-bbr") {
		p.CC = "bbr"
	}
	return p
}

func readIperf3(t testing.TB, name string) Output {
	t.Helper()
	return recordings[0].output(t, name)
}

func TestIperf3Commands(t *testing.T) {
	v4, v6 := netip.MustParseAddrPort("10.64.1.1:5201"), netip.MustParseAddrPort("[fd77::1]:7")
	for _, tc := range []struct {
		p              Iperf3
		w              Window
		server, client string
	}{
		{Iperf3{}, Window{Server: v4, Duration: time.Second},
			"iperf3 -s -1 -B 10.64.1.1 -p 5201 -J",
			"iperf3 -c 10.64.1.1 -p 5201 -J --connect-timeout 5000 -t 1 -O 0 -P 1 -l 131072 -b 0 -C cubic"},
		{Iperf3{UDP: true, Streams: 3, Rate: 1e9, Reverse: true}, Window{Server: v6, Warmup: 200 * time.Millisecond, Duration: 2500 * time.Millisecond},
			"iperf3 -s -1 -B fd77::1 -p 7 -J",
			"iperf3 -c fd77::1 -p 7 -J --connect-timeout 5000 -t 3 -O 1 -P 3 -l 1400 -b 333333333 -u -R"},
		{Iperf3{UDP: true, GSO: true}, Window{Server: v4, Duration: time.Second},
			"iperf3 -s -1 -B 10.64.1.1 -p 5201 -J",
			"iperf3 -c 10.64.1.1 -p 5201 -J --connect-timeout 5000 -t 1 -O 0 -P 1 -l 1400 -b 0 -u --gsro"},
		// -t 0 and -b 0 would mean forever and unlimited.
		{Iperf3{Streams: 4, Rate: 3, Size: 64, CC: "reno"}, Window{Server: v4},
			"iperf3 -s -1 -B 10.64.1.1 -p 5201 -J",
			"iperf3 -c 10.64.1.1 -p 5201 -J --connect-timeout 5000 -t 1 -O 0 -P 4 -l 64 -b 1 -C reno"},
	} {
		server, client := tc.p.Commands(tc.w)
		if got := strings.Join(server, " "); got != tc.server {
			t.Errorf("%+v: server\n got %s\nwant %s", tc.p, got, tc.server)
		}
		if got := strings.Join(client, " "); got != tc.client {
			t.Errorf("%+v: client\n got %s\nwant %s", tc.p, got, tc.client)
		}
	}
}

func TestIperf3Check(t *testing.T) {
	if err := (Iperf3{GSO: true}).Check(); err == nil || !strings.Contains(err.Error(), "gso needs UDP") {
		t.Errorf("TCP with gso: %v", err)
	}
	if err := (Iperf3{UDP: true, GSO: true}).Check(); err != nil {
		t.Error(err)
	}
}

func TestIperf3Refuses(t *testing.T) {
	const tcp, udp = "3.12-tcp", "3.12-udp"
	for _, tc := range []struct{ from, old, new, want string }{
		{tcp, `"sum_received"`, `"sum_receive"`, "no end.sum_received"},
		{tcp, `"sum_sent"`, `"sum_send"`, "no end.sum_sent"},
		{udp, `"sum_received"`, `"sum_receive"`, "no end.sum_received"},
		{tcp, `iperf 3.12`, `iperf 3.1.7`, "version 3.1.7 is too old; install 3.2 or later"},
		{udp, `iperf 3.12`, `iperf 3.9`, "does not report what it received over UDP"},
		{tcp, `iperf 3.12`, `iperf version 2.1.8`, "unknown version"},
		{tcp, `"protocol":	"TCP"`, `"protocol":	"SCTP"`, `measured "SCTP", asked for "TCP"`},
		{tcp, `congestion":	"cubic"`, `congestion":	"bbr"`, `congestion control was "bbr", asked for "cubic"`},
		{tcp, `"retransmits"`, `"retransmit"`, "no end.sum_sent.retransmits"},
		{udp, `"jitter_ms"`, `"jitter"`, "no end.sum_received.jitter_ms"},
		{udp, `"blksize":	1400`, `"blksize":	0`, "datagrams of 0 bytes"},
		{tcp, `"seconds":	1`, `"seconds":	0, "was": 1`, "lasted 0 s"},
		{tcp, `"seconds":	1`, `"seconds":	null, "was": 1`, "no seconds or no bytes"}, // cJSON prints NaN as null
		{tcp, `"seconds":	1`, `"seconds":	NaN, "was": 1`, "is not JSON"},
		{tcp, `"seconds":	1`, `"seconds":	1e999, "was": 1`, "is not JSON"},
		{tcp, `"bytes":	`, `"bytes":	-1, "was": `, "has -1 bytes"},
		{udp, `"bytes":	`, `"bytes":	0, "was": `, "nothing was received"},
		{tcp, `"retransmits":	`, `"retransmits":	-1, "was": `, "retransmits is -1 1"},
		{tcp, `"end":	{`, `"error": "unable to send control message: Bad file descriptor", "end": {`, "Bad file descriptor"},
	} {
		out := readIperf3(t, tc.from)
		damaged := bytes.ReplaceAll(out.Client, []byte(tc.old), []byte(tc.new))
		if bytes.Equal(damaged, out.Client) {
			t.Fatalf("%s has no %q", tc.from, tc.old)
		}
		out.Client = damaged
		m, err := iperf3For(tc.from).Parse(out)
		if err == nil || !strings.Contains(err.Error(), tc.want) || m.Values != nil {
			t.Errorf("%s: %q for %q: %v, %v, want an error with %q", tc.from, tc.new, tc.old, m.Values, err, tc.want)
		}
	}
}

// The receiver can count more bytes than the sender only after a warm-up: bytes in flight when it
// ended, and bytes that the sender forgot at that moment.
func TestIperf3MoreReceivedThanSent(t *testing.T) {
	const doc = `{"start": {"version": "iperf 3.12", "test_start": {"protocol": "TCP", "omit": %d, "num_streams": 1, "blksize": 10}},
		"intervals": [{"sum": {"start": 0, "bytes": %d, "omitted": true}}, {"sum": {"start": 0.25, "bytes": 1}}],
		"end": {"streams": [{}], "sender_tcp_congestion": "cubic",
		"sum_sent": {"seconds": 2, "bytes": 1000, "retransmits": 0}, "sum_received": {"seconds": 1, "bytes": %d}}}`
	// The sender sends 125 bytes in the 0.25 s between warm-up and measurement, plus ten writes.
	for _, tc := range []struct {
		omit, sent, received int // in the warm-up
		total                int
		server, ok           bool
	}{
		{0, 0, 0, 1000, true, true},
		{0, 0, 0, 1001, true, false},
		{1, 500, 500, 1225, true, true},
		{1, 500, 500, 1226, true, false},
		{1, 800, 500, 1525, true, true},
		{1, 800, 500, 1526, true, false},
		{1, 800, 500, 2025, false, true},
		{1, 800, 500, 2026, false, false},
	} {
		for _, reverse := range []bool{false, true} {
			out := Output{Client: fmt.Appendf(nil, doc, tc.omit, tc.sent, tc.total), Server: fmt.Appendf(nil, doc, tc.omit, tc.received, tc.total)}
			if reverse && tc.server {
				out.Client, out.Server = out.Server, out.Client
			}
			if !tc.server {
				out.Server = nil
			}
			if m, err := (Iperf3{Reverse: reverse}).Parse(out); (err == nil) != tc.ok {
				t.Errorf("%+v, reverse %v: %v, %v", tc, reverse, m.Values, err)
			}
		}
	}
}

func TestIperf3WithoutServer(t *testing.T) {
	out := readIperf3(t, "3.12-udp-reordered")
	whole, err := Iperf3{UDP: true}.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	out.Server = out.Server[:len(out.Server)/2]
	part, err := Iperf3{UDP: true}.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	var without []string
	for _, v := range whole.Values {
		if v.Name == "reordered" && (v.Value < 0.09 || v.Value > 0.11) {
			t.Errorf("reordered = %v, one in ten was", v.Value)
		} else if v.Name != "reordered" {
			without = append(without, fmt.Sprint(v))
		}
	}
	var got []string
	for _, v := range part.Values {
		got = append(got, fmt.Sprint(v))
	}
	if !slices.Equal(got, without) || len(got) != len(whole.Values)-1 {
		t.Errorf("got  %v\nwant %v", got, without)
	}
}

func TestBitrate(t *testing.T) {
	var r Bitrate
	if err := r.UnmarshalText([]byte("1gbit")); err != nil || r != 1e9 {
		t.Errorf("1gbit: %v, %v", r, err)
	}
	for _, s := range []string{"", "fast", "-1gbit", "1000000tbit"} {
		if err := r.UnmarshalText([]byte(s)); err == nil {
			t.Errorf("%q: no error", s)
		}
	}
}
