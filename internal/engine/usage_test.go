package engine

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"", "one of hog, nats, ping, reach, run, serve"},
		{"dance", `unknown command "dance"`},
		{"serve localhost:1", "is not a literal address"},
		{"serve fe80::1%eth0:1", "is not a literal address"},
		{"serve [fe80::1%nonesuch]:1", "is not a literal address (without a zone)"},
		{"serve 127.0.0.1:65536", "is not a literal address"},
		{"run tcp-rr :5202", "is not a literal address"},
		{"run tcp-rr nonesuch.invalid", "is not a literal address"},
		{"run tcp-rr", "ADDR[:PORT] is missing; see weir engine run --help"},
		{"serve --open", "--open needs an address"},
		{"serve 127.0.0.1 --open --idle 1s", "--open cannot be combined with"},
		{"serve 127.0.0.1 --open --token abcdefghijklmnop", "--open cannot be combined with"},
		{"serve --token short", "5 characters, outside 16..256"},
		{"serve --token abcdefghéijklmnop", "printable ASCII"},
		{"serve --token abcdefghijklmnop --token-file x", "--token and --token-file cannot be combined"},
		{"serve --token-file /nonesuch", "no such file"},
		{"serve --idle -1s", "idle time -1s is negative"},
		{"serve 127.0.0.1:1 more", `unexpected argument "more"`},
		{"run sctp 127.0.0.1:1", "one of connect-outage, dns-lookup, dns-rr, grpc-rr, h2-rr, http-connect, http-rr, quic-rr, tcp-crr, tcp-outage, tcp-rr, tcp-stream, udp-open, udp-outage, udp-rr, udp-search, udp-stream"},
		{"run udp-rr 127.0.0.1:0", "port 0"},
		{"run udp-rr 127.0.0.1:1 --size 0", "--size 0: want more, or leave it out"},
		{"run udp-stream 127.0.0.1:1 --batch 0", "--batch 0: want more"},
		{"run udp-rr 127.0.0.1:1 --inflight 0", "--inflight 0: want more"},
		{"run udp-open 127.0.0.1:1 --rate 0", "--rate 0: want more"},
		{"run udp-stream 127.0.0.1:1 --send=", "--send is empty: give it a value"},
		{"run tcp-rr 127.0.0.1:1 --cc=", "--cc is empty"},
		{"serve --token=", "--token is empty"},
		{"run udp-rr 127.0.0.1:1 --size 010", "size 10 is outside 16..65507"}, // and not 8
		{"run udp-rr 127.0.0.1:1 --size 0x40", `invalid value "0x40" for flag -size: want a decimal number, such as 1000`},
		{"run udp-rr 127.0.0.1:1 --size 1_000", "want a decimal number, such as 1000"},
		{"run udp-rr 127.0.0.1:1 --size 0b111111", "want a decimal number, such as 1000"},
		{"run udp-open 127.0.0.1:1 --rate 1_000", "want a decimal number, such as 1000"},
		{"run udp-open 127.0.0.1:1 --rate 0x1p10", "want a decimal number, such as 1000"},
		{"ping 127.0.0.1 --count 0x10", "want a decimal number, such as 1000"},
		{"run udp-rr 127.0.0.1:1 --size 15", "size 15 is outside 16..65507"},
		{"run tcp-rr 127.0.0.1:1 --duration 0s", "duration 0s is outside"},
		{"run tcp-rr 127.0.0.1:1 --rate 1", "--rate is only for connect-outage, tcp-outage, tcp-stream, udp-open, udp-outage, udp-stream"},
		{"run udp-stream 127.0.0.1:1 --rate NaN", "rate NaN"},
		{"run udp-search 127.0.0.1:1 --streams 2", "--streams is only for tcp-stream, udp-stream"},
		{"run udp-stream 127.0.0.1:1 --streams 0", "streams 0 is outside 1..128"},
		{"run udp-stream 127.0.0.1:1 --streams 2 --send xdp", "--send xdp with 2 streams: it sends on the first queue"},
		{"run tcp-stream 127.0.0.1:1 --streams 129", "streams 129 is outside 1..128"},
		{"run tcp-stream 127.0.0.1:1 --size", "flag needs an argument"},
		{"run udp-rr 127.0.0.1:1 --inflight 1025", "1025 requests in flight is outside 1..1024"},
		{"run udp-open 127.0.0.1:1 --inflight 2", "more than one request in flight is only for tcp-rr, udp-rr"},
		{"run tcp-rr 127.0.0.1:1 --inflight 2 --size 40000", "more than 65536 bytes"},
		{"run tcp-rr 127.0.0.1:1 --tls", "--tls is only for http-connect, http-rr"},
		{"run http-connect 127.0.0.1:1 --resume", "--resume without --tls: there is no session"},
		{"run http-rr 127.0.0.1:1 --rcvbuf 40000", "http-rr: libraries choose its buffers"},
		{"run quic-rr 127.0.0.1:1 --inflight 101", "101 requests in flight is outside 1..100"},
		{"run quic-rr 127.0.0.1:1 --packet 1199", "packets of 1199 bytes: QUIC sends datagrams of 1200 on every path (RFC 9000, section 14), with the headers of UDP and IP 1228 over IPv4"},
		{"run quic-rr 127.0.0.1:1 --packet 1453", "packets: 1453 is outside 1200..1452 bytes"},
		{"run http-rr 127.0.0.1:1 --packet 1300", "--packet is only for quic-rr"},
		{"run http-rr 127.0.0.1:1 --inflight 101", "101 requests in flight is outside 1..100"},
		{"run http-rr 127.0.0.1:1 --rate 2000000", "rate 2e+06 is outside 1..1000000 requests/s"},
		{"run tcp-crr 127.0.0.1:1 --spin", "spinning is only for tcp-rr, udp-open, udp-rr"},
		{"run tcp-crr 127.0.0.1:1 --size 15", "size 15 is outside 16..16777216 bytes"},
		{"run connect-outage 127.0.0.1:1 --rate 2001", "rate 2001 is outside 10..2000/s"},
		{"run udp-outage 127.0.0.1:1 --rate 30000", "rate 30000 is outside 10..20000/s"},
		{"run udp-outage 127.0.0.1:1 --duration 20m", "more than 2000000 requests: take at most 16m40s"},
		{"run udp-outage 127.0.0.1:1 --size 63", "udp-outage: size 63 is outside 64..65507 bytes"},
		{"run udp-open 127.0.0.1:1 --rate 0.5", "rate 0.5 is outside 1..1000000 requests/s"},
		{"run udp-open 127.0.0.1:1 --rate NaN", "rate NaN"},
		{"run udp-rr 127.0.0.1:1 --stamp-every -1s", "time between stamps -1s is outside"},
		{"run tcp-stream 127.0.0.1:1 --send gso", "are only for udp-stream, udp-search"},
		{"run udp-rr 127.0.0.1:1 --nap 1us", "are only for udp-stream, udp-search"},
		{"run udp-search 127.0.0.1:1 --loss 100%", "loss 100% is outside 0%..100%"},
		{"run udp-search 127.0.0.1:1 --loss much", "not a number"},
		{"run udp-search 127.0.0.1:1 --width 0", "width 0% is outside 0.1%..100%"},
		{"run udp-search 127.0.0.1:1 --phase 1us", "phase 1µs is outside 100µs and the duration, 10s"},
		{"run udp-search 127.0.0.1:1 --phase 1s --duration 999ms", "phase 1s is outside"},
		{"run udp-search 127.0.0.1:1 --rate 1e6", "--rate is only for"},
		{"run udp-stream 127.0.0.1:1 --loss 1%", "--loss, --width and --phase are only for udp-search"},
		{"run udp-stream 127.0.0.1:1 --discard", "--discard is only for tcp-stream"},
		{"run udp-stream 127.0.0.1:1 --zerocopy", "--zerocopy is only for tcp-stream"},
		{"run udp-stream 127.0.0.1:1 --sendfile", "--sendfile is only for tcp-stream"},
		{"run tcp-stream 127.0.0.1:1 --sendfile --zerocopy", "--zerocopy and --sendfile: give one of them"},
		{"run udp-stream 127.0.0.1:1 --send raw", "one of single, mmsg, gso"},
		{"run udp-stream 127.0.0.1:1 --recv raw", "one of single, mmsg, gro"},
		{"run udp-stream 127.0.0.1:1 --batch 2", "batch: 2 is outside 1..1 of single"},
		{"run udp-stream 127.0.0.1:1 --send mmsg --batch 1025", "batch: 1025 is outside 1..1024 of mmsg"},
		{"run udp-stream 127.0.0.1:1 --send gso --batch -1", "batch: -1 is outside 1..128 of gso"},
		{"run udp-stream 127.0.0.1:1 --send gso --batch 47", "at most 46 of this size"},
		{"run udp-stream 127.0.0.1:1 --send gso --size 15", "size 15 is outside 16..65507"},
		{"run udp-stream 127.0.0.1:1 --nap 11ms", "nap 11ms is outside 0s..10ms"},
		{"run udp-stream 127.0.0.1:1 --nap -1ns", "nap -1ns is outside 0s..10ms"},
		{"run tcp-stream 127.0.0.1:1 --dscp 64", "DSCP 64 is outside 0..63"},
		{"run tcp-stream 127.0.0.1:1 --cpu 1-0", "not a list of CPUs"},
		{"serve 127.0.0.1:1 --cpu 1024", "not a list of CPUs"},
		{"run tcp-stream 127.0.0.1:1 --rate 1e5", "rate 100000 is below 131072 bit/s per stream"},
		{"run tcp-stream 127.0.0.1:1 --rate 2e5 --streams 2", "rate 200000 is below"},
		{"serve 127.0.0.1:0 --open --marks", "--marks needs a token"},
		{"reach 127.0.0.1:1 --size 100 --token short", "5 characters, outside 16..256"},
		{"hog", "--share is missing"},
		{"hog --share 0%", "want more than 0% and at most 100%"},
		{"hog --share 101%", "want more than 0% and at most 100%"},
		{"hog --share half", "not a number"},
		{"hog --share 50% --period 1us", "period 1µs is outside"},
		{"hog --share 50% --cpu x", "not a list of CPUs"},
		{"hog --share 50% more", `unexpected argument "more"`},
		{"nats", "ADDR:PORT is missing; see weir engine nats --help"},
		{"nats localhost:4222", "is not a literal address"},
		{"nats 127.0.0.1:4222 --size 7", "nats: size 7 is outside 8..1048576 bytes"},
		{"nats 127.0.0.1:4222 --inflight 101", "nats: 101 requests in flight is outside 1..100"},
		{"nats 127.0.0.1:4222 --duration 0s", "duration 0s is outside"},
		{"ping ::1 --interval 1us", "interval 1µs is outside"},
		{"ping 127.0.0.1:1", "not a literal address"},
		{"reach 127.0.0.1:1", "size 0 is outside 44..65535"},
		{"reach [::1]:1 --size 63", "size 63 is outside 64..65535"},
	} {
		_, err := run(t, strings.Fields(tc.args)...)
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want a usage error with %q", tc.args, err, tc.want)
		}
	}
	_, err := run(t, "run", "tcp-stream", "127.0.0.1:1", "--cc", "nonesuch", "--timeout", "10ms")
	if err == nil || errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "reno") {
		t.Errorf("unknown congestion control: %v, want an error that lists the known ones", err)
	}
	var help bytes.Buffer
	if err := Main(t.Context(), []string{"run", "-h"}, nil, &help); err != nil || !strings.Contains(help.String(), "-rcvbuf") || !strings.Contains(help.String(), "tcp-crr, tcp-outage, tcp-rr, tcp-stream") {
		t.Errorf("help: %v, %q", err, help.String())
	}
}

func TestParseCPUs(t *testing.T) {
	for s, want := range map[string][]int{"0": {0}, "3,1": {3, 1}, "0,2-4": {0, 2, 3, 4}, "1023": {1023}} {
		if got, err := parseCPUs(s); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "a", "-1", "1-", "1024", "2-1", "0,,1", "0 1", "99999999999999999999"} {
		if got, err := parseCPUs(s); err == nil || !strings.Contains(err.Error(), "not a list of CPUs") {
			t.Errorf("%q: %v, %v, want an error", s, got, err)
		}
	}
}

// What this machine or the way to another one lacks is not a mistake in the command line.
func TestEnvironment(t *testing.T) {
	for _, args := range []string{"run tcp-rr 127.0.0.1:1 --timeout 10ms", "serve 127.0.0.1:0 --cpu 1023", "run tcp-rr 127.0.0.1:1 --cpu 1023"} {
		if out, err := person(t, strings.Fields(args)...); !errors.Is(err, ErrEnvironment) || errors.Is(err, ErrUsage) {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
}
