package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A recording locates one tool's output and maps each case to its probe.
type recording struct {
	tool string
	of   func(name string) Probe // name is VERSION-CASE
}

// recordings of foreign tools. The command lines are in the .cmd files next to the output;
// truncated cases were cut by hand.
var recordings = []recording{
	{"iperf3", func(n string) Probe { return iperf3For(n) }},
	{"iperf", func(n string) Probe {
		switch {
		case has(n, "bounceback"):
			return Iperf2Bounceback{}
		case has(n, "no-such-cc"):
			return Iperf2{CC: "bogus"}
		case has(n, "udp-lossy"):
			return Iperf2{UDP: true, Size: 1400}
		case has(n, "udp-streams"):
			return Iperf2{UDP: true, Size: 100, Rate: 10e6, Streams: 3}
		case has(n, "udp-small"):
			return Iperf2{UDP: true, Size: 18}
		case has(n, "udp"):
			return Iperf2{UDP: true, Rate: 20e6}
		case has(n, "tcp-streams"):
			return Iperf2{Streams: 3, Rate: 300e6}
		}
		return Iperf2{}
	}},
	{"nuttcp", func(n string) Probe {
		switch {
		case has(n, "udp-lossy"):
			return Nuttcp{UDP: true}
		case has(n, "udp-streams"):
			return Nuttcp{UDP: true, Streams: 2, Size: 100}
		case has(n, "udp"):
			return Nuttcp{UDP: true, Rate: 20e6}
		case has(n, "tcp-streams"):
			return Nuttcp{Streams: 2}
		}
		return Nuttcp{}
	}},
	{"sockperf", func(n string) Probe {
		if has(n, "load") {
			return SockperfLoad{}
		}
		return SockperfRR{TCP: has(n, "tcp")}
	}},
	{"qperf", func(n string) Probe {
		if has(n, "-rr") {
			return QperfRR{UDP: has(n, "udp")}
		}
		return Qperf{UDP: has(n, "udp")}
	}},
	{"netperf", func(n string) Probe {
		if has(n, "rr") {
			return NetperfRR{UDP: has(n, "udp"), Connect: has(n, "crr")}
		}
		return Netperf{UDP: has(n, "udp")}
	}},
	{"fping", func(n string) Probe {
		if has(n, "few") {
			return Fping{Interval: 200e6}
		}
		return Fping{}
	}},
	{"wrk", func(string) Probe { return HTTP{} }},
	{"h2load", func(string) Probe { return HTTP{H2: true} }},
	{"dnsperf", func(string) Probe { return DNSPerf{} }},
	{"pgbench", func(n string) Probe { return PGBench{Write: has(n, "tpcb")} }},
	{"redis-benchmark", func(n string) Probe { return Redis{Set: has(n, "set")} }},
	{"memcaslap", func(string) Probe { return Memcached{} }},
	{"nats-server", func(string) Probe { return NATS{} }},
}

func has(name, what string) bool { return strings.Contains(name, what) }

func (r recording) cases(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(r.dir() + "*.cmd")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no recorded output: %v", r.tool, err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".cmd")
	}
	return files
}

func (r recording) dir() string { return "testdata/" + r.tool + "/" }

// output reads one case; a silent server has no file.
func (r recording) output(t testing.TB, name string) Output {
	t.Helper()
	read := func(suffix string) (b []byte, err error) {
		for _, ext := range []string{".out", ".json"} {
			if b, err = os.ReadFile(r.dir() + name + suffix + ext); !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
		return b, err
	}
	client, err := read("")
	if err != nil {
		t.Fatal(err)
	}
	server, err := read(".server")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return Output{Client: client, Server: server}
}

func TestRecorded(t *testing.T) {
	for _, r := range recordings {
		t.Run(r.tool, func(t *testing.T) {
			var b bytes.Buffer
			for _, name := range r.cases(t) {
				fmt.Fprintf(&b, "%s\n", name)
				p := r.of(name)
				m, err := p.Parse(r.output(t, name))
				checkMeasured(t, m, err)
				if err == nil && m.Values[0].Unit != p.Info().Unit {
					t.Errorf("%s: the first value is in %s, Info says %s", name, m.Values[0].Unit, p.Info().Unit)
				}
				if err == nil && (m.Protocol != "tcp") != p.Info().Datagrams {
					t.Errorf("%s: over %s, Info says that it sends datagrams: %t", name, m.Protocol, p.Info().Datagrams)
				}
				if err != nil {
					fmt.Fprintf(&b, "  error: %v\n", err)
				}
				for _, v := range m.Values {
					hist := ""
					if v.Hist != "" {
						hist = " with its histogram"
					}
					fmt.Fprintf(&b, "  %s %s %s%s\n", v.Key(), strconv.FormatFloat(v.Value, 'g', 6, 64), v.Unit, hist)
				}
				for _, k := range slices.Sorted(maps.Keys(m.Observed)) {
					fmt.Fprintf(&b, "  found %s: %s\n", k, m.Observed[k])
				}
			}
			checkGolden(t, r.dir()+"golden.txt", b.Bytes())
		})
	}
}

func TestRecordedCut(t *testing.T) {
	for _, r := range recordings {
		for _, name := range r.cases(t) {
			out := r.output(t, name)
			for _, cut := range []int{0, len(out.Client) / 4, len(out.Client) / 2} {
				if m, err := r.of(name).Parse(Output{Client: out.Client[:cut], Server: out.Server}); err == nil {
					t.Errorf("%s/%s: %v from the first %d of %d bytes", r.tool, name, m.Values, cut, len(out.Client))
				}
			}
		}
	}
}

func TestRecordedCommands(t *testing.T) {
	w := Window{Server: netip.MustParseAddrPort("10.64.2.1:5201"), Duration: time.Second}
	for _, r := range recordings {
		for _, name := range r.cases(t) {
			if r.tool == "iperf3" || has(name, "refused") || has(name, "no-such") {
				continue // made by hand
			}
			server, client := r.of(name).Commands(w)
			want := "client: " + strings.Join(client, " ") + "\n"
			if server != nil {
				want = "server: " + strings.Join(server, " ") + "\n" + want
			}
			got, err := os.ReadFile(r.dir() + name + ".cmd")
			if err != nil || string(got) != want {
				t.Errorf("%s/%s: %v\n%sthe probe runs\n%s", r.tool, name, err, got, want)
			}
		}
	}
}

func fuzzRecorded(f *testing.F, tool string) {
	i := slices.IndexFunc(recordings, func(r recording) bool { return r.tool == tool })
	r := recordings[i]
	names := r.cases(f)
	for i, name := range names {
		out := r.output(f, name)
		f.Add(uint(i), out.Client, out.Server)
	}
	f.Fuzz(func(t *testing.T, i uint, client, server []byte) {
		m, err := r.of(names[i%uint(len(names))]).Parse(Output{Client: client, Server: server})
		checkMeasured(t, m, err)
	})
}

func FuzzIperf3(f *testing.F)    { fuzzRecorded(f, "iperf3") }
func FuzzIperf2(f *testing.F)    { fuzzRecorded(f, "iperf") }
func FuzzNuttcp(f *testing.F)    { fuzzRecorded(f, "nuttcp") }
func FuzzSockperf(f *testing.F)  { fuzzRecorded(f, "sockperf") }
func FuzzQperf(f *testing.F)     { fuzzRecorded(f, "qperf") }
func FuzzNetperf(f *testing.F)   { fuzzRecorded(f, "netperf") }
func FuzzFping(f *testing.F)     { fuzzRecorded(f, "fping") }
func FuzzRedis(f *testing.F)     { fuzzRecorded(f, "redis-benchmark") }
func FuzzMemcached(f *testing.F) { fuzzRecorded(f, "memcaslap") }
func FuzzNATS(f *testing.F)      { fuzzRecorded(f, "nats-server") }
func FuzzWrk(f *testing.F)       { fuzzRecorded(f, "wrk") }
func FuzzH2load(f *testing.F)    { fuzzRecorded(f, "h2load") }
func FuzzDNSPerf(f *testing.F)   { fuzzRecorded(f, "dnsperf") }
func FuzzPGBench(f *testing.F)   { fuzzRecorded(f, "pgbench") }

// A slow network leaves the request rate few digits.
func TestBouncebackRounds(t *testing.T) {
	out := recordings[slices.IndexFunc(recordings, func(r recording) bool { return r.tool == "iperf" })].output(t, "2.1.8-bounceback")
	for _, tc := range []struct {
		mean, rps string
		want      float64 // s; 0: they do not agree
	}{
		{"0.058", "17306", 1. / 17306}, {"0.058", "17093", 0}, {"0.058", "17391", 1. / 17391}, {"0.058", "17393", 0},
		{"0.999", "1001", 1. / 1001}, {"150.000", "7", 0.15}, {"150.000", "6.7", 0.15}, {"150.000", "8", 0}, {"2500.000", "0", 2.5}, {"0.000", "9", 0},
	} {
		client := bytes.Replace(out.Client, []byte("17107=0.058/"), []byte("6="+tc.mean+"/"), 1)
		client = bytes.Replace(client, []byte("17306 rps"), []byte(tc.rps+" rps"), 1)
		client = bytes.Replace(client, []byte("0.0000-1.0017"), []byte("0.0000-15.0017"), 1)
		m, err := Iperf2Bounceback{}.Parse(Output{Client: client})
		if tc.want == 0 != (err != nil) || err == nil && m.Values[0].Value != tc.want {
			t.Errorf("%s ms at %s/s: %v, %v, want %g s", tc.mean, tc.rps, m.Values, err, tc.want)
		}
	}
}

// TestRecordedDamaged damages good output in one place per case: missing, malformed, from another
// test, or impossible.
func TestRecordedDamaged(t *testing.T) {
	for _, c := range []struct {
		tool, from string
		server     bool // whose output is damaged
		old, new   string
		want       string
	}{
		{"iperf", "2.1.8-tcp", true, ` sec  `, ` sec  9`, "bytes were received and only"},
		{"iperf", "2.1.8-tcp", true, `bits/sec`, `nan/sec`, "the server reported 0 of 1 streams"},
		{"iperf", "2.1.8-tcp", false, `set to cubic`, `set to bbr`, `congestion control was not set to "cubic"`},
		{"iperf", "2.1.8-udp", false, `Sending 1470`, `Sending 1400`, "does not confirm datagrams of 1470 bytes"},
		{"iperf", "2.1.8-udp", true, ` ms `, ` furlongs `, "reported no jitter"},
		{"iperf", "2.1.8-bounceback", false, ` rps`, `0 rps`, "do not fit"},
		{"nuttcp", "6.1.2-tcp", false, "nuttcp-r: megabytes=", "nuttcp-r: megabytes=9", "bytes were received and only"},
		{"nuttcp", "6.1.2-tcp", false, "rate_Mbps=", "rate_Mbps=nan", "rate_Mbps is"},
		{"nuttcp", "6.1.2-tcp", false, "mode=tcp", "mode=udp", `the receiver measured "udp", asked for "tcp"`},
		{"nuttcp", "6.1.2-udp", false, "buflen=1400", "buflen=1000", "datagrams of 1000 bytes, asked for 1400"},
		{"sockperf", "3.7-rr", false, "avg-latency=", "avg-latency=-", "output has no avg-latency"},
		{"sockperf", "3.7-rr", false, "ReceivedMessages=", "ReceivedMessages=9", "answers and 0 lost of"},
		{"sockperf", "3.7-rr", false, "<MIN>", "", "output is cut off"},
		{"qperf", "0.4.11-tcp", false, "rem_recv_bytes   =  ", "rem_recv_bytes   =  9", "bytes were received and only"},
		{"qperf", "0.4.11-tcp", false, " bytes\n", " mib\n", "output has no msg_size"},
		{"qperf", "0.4.11-udp", false, "rem_real_time", "rem_unreal_time", "output has no rem_real_time"},
		{"qperf", "0.4.11-udp-rr", false, "latency          =  ", "latency          =  9", "do not fit"},
		{"netperf", "2.7.0-tcp", false, "REMOTE_BYTES_RECVD=", "REMOTE_BYTES_RECVD=9", "bytes were received and only"},
		{"netperf", "2.7.0-tcp", false, "cubic", "bbr", `LOCAL_CONG_CONTROL is "bbr", asked for "cubic"`},
		{"netperf", "2.7.0-udp", false, "10^6bits/s", "MBytes/s", `THROUGHPUT_UNITS is "MBytes/s"`},
		{"netperf", "2.7.0-udp-rr", false, "P50_LATENCY=", "P50_LATENCY=-nan", "P50_LATENCY is"},
		{"netperf", "2.7.0-udp-rr", false, "MEAN_LATENCY=", "MEAN_LATENCY=9", "do not fit"},
		{"fping", "5.1-fping", false, " ms (", " s (", "unknown line"},
		{"wrk", "4.1.0-http", false, "Requests/sec:", "  Socket errors: connect 0, read 3, write 0, timeout 0\nRequests/sec:", "Socket errors: connect 0, read 3"},
		{"wrk", "4.1.0-http", false, " requests in ", "0 requests in ", "requests in"},
		{"wrk", "4.1.0-http", false, "10.74MB read", "1.74MB read", "8907 responses of 205 bytes with their heads, want bodies of 1024 bytes"},
		{"wrk", "4.1.0-http", false, "10.74MB read", "10.74GB read", "want bodies of 1024 bytes"},
		{"h2load", "1.52.0-h2", false, "(7671808) data", "(7671807) data", "want bodies of 1024 bytes"},
		{"h2load", "1.52.0-h2", false, "(7671808) data", "(7688193) data", "7492 responses, and"},
		{"h2load", "1.52.0-h2", false, " 0 failed", " 2 failed", "not all requests succeeded"},
		{"h2load", "1.52.0-h2", false, " req/s, ", "e5 req/s, ", "no whole result"},
		{"dnsperf", "2.10.0-dns", false, "NOERROR", "SERVFAIL", "want an answer without error to each"},
		{"dnsperf", "2.10.0-dns", false, "Run time (s):         ", "Run time (s):         9", "are not"},
		{"pgbench", "15.18-select", false, "transactions: 0", "transactions: 3", "pgbench: 3 of"},
		{"pgbench", "15.18-tpcb", false, "latency average = ", "latency average = 9", "do not fit into 4 at a time"},
		{"memcaslap", "1.1.4-memcached", false, "read_bytes: ", "read_bytes: 9", "want values of 64 bytes"},
		{"memcaslap", "1.1.4-memcached", false, "Ops: ", "Ops: 9", "operations were answered"},
		{"memcaslap", "1.1.4-memcached", false, "   Avg:      ", "   Avg:     9", "do not fit into 16 at a time"},
		{"redis-benchmark", "7.0.15-get", false, `"GET"`, `"SET"`, `it measured "SET", asked for "GET"`},
		{"redis-benchmark", "7.0.15-get", false, `"1.821"`, `"9.821"`, "do not fit into 50 at a time"},
		{"redis-benchmark", "7.0.15-get", false, `"p50_`, `"p51_`, "another version"},
		{"redis-benchmark", "7.0.15-set", false, `"19290.12"`, `"nan"`, `rps is "nan", not a number`},
	} {
		r := recordings[slices.IndexFunc(recordings, func(r recording) bool { return r.tool == c.tool })]
		out := r.output(t, c.from)
		damaged := &out.Client
		if c.server {
			damaged = &out.Server
		}
		was := *damaged
		if *damaged = bytes.ReplaceAll(was, []byte(c.old), []byte(c.new)); bytes.Equal(*damaged, was) {
			t.Fatalf("%s has no %q", c.from, c.old)
		}
		m, err := r.of(c.from).Parse(out)
		if err == nil || !strings.Contains(err.Error(), c.want) || m.Values != nil {
			t.Errorf("%s %s: %q for %q: %v, %v, want an error with %q", c.tool, c.from, c.new, c.old, m.Values, err, c.want)
		}
	}
}
