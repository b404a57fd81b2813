package probe

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// A part that takes longer than the whole is rejected, even if it is only one.
func TestNativeParts(t *testing.T) {
	out := read(t, "testdata/native/1-udp-rr.out")
	m, err := UDPRR{}.Parse(Output{Client: out})
	if err != nil {
		t.Fatal(err)
	}
	part := map[record.Quantity]float64{}
	for _, v := range m.Values {
		part[v.Name] = v.Value
		if (v.Hist != "") != v.Name.In(record.RTT, record.RTTPath, record.RTTWake, record.RTTApp, record.RTTStamped) {
			t.Errorf("%s: histogram %.20q", v.Name, v.Hist)
		}
	}
	sum := part["rtt.path"] + part["rtt.wake"] + part["rtt.app"]
	if sum < 0.8*part["rtt.stamped"] || sum > 1.2*part["rtt.stamped"] {
		t.Errorf("parts of %v make %g", part, sum)
	}
	var fields map[string]any
	line := bytes.Split(bytes.TrimSpace(out), []byte("\n"))[2]
	if err := json.Unmarshal(line, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pathHist", "wakeHist", "appHist", "stampedHist"} {
		for _, tc := range []struct {
			ns   int64
			want string
		}{
			{30_000_000_000, "and only 0 response times are that long"},
			{1, name + " of"}, // one more than was stamped
		} {
			h, err := hdrhistogram.Decode([]byte(fields[name].(string)))
			if err != nil {
				t.Fatal(err)
			}
			if err := h.RecordValue(tc.ns); err != nil {
				t.Fatal(err)
			}
			b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
			if err != nil {
				t.Fatal(err)
			}
			bad := bytes.Replace(out, []byte(fields[name].(string)), b, 1)
			if m, err := (UDPRR{}).Parse(Output{Client: bad}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s with one of %d ns: %v, %v, want %q", name, tc.ns, m.Values, err, tc.want)
			}
		}
	}
}

func TestNativeCheck(t *testing.T) {
	for _, tc := range []struct {
		p    interface{ Check() error }
		want string
	}{
		{TCPRR{}, ""}, {UDPRR{}, ""}, {TCPCRR{}, ""}, {UDPOpen{}, ""}, {TCPRR{Inflight: 1024}, ""}, {UDPRR{Size: 16}, ""},
		{TCPRR{Size: 65, Inflight: 1024}, "are more than 65536 bytes"},
		{TCPRR{Size: -1}, "size -1 is outside 1..16777216"},
		{TCPRR{Size: 1, Inflight: 1025}, "1025 requests in flight is outside 1..1024"},
		{UDPRR{Size: 15}, "size 15 is outside 16..65507"},
		{UDPRR{Inflight: -1}, "-1 requests in flight"},
		{TCPCRR{Size: 15}, "size 15 is outside"},
		{HTTPRR{}, ""}, {HTTPRR{H2: true, InFlight: 100, Rate: 1}, ""}, {HTTPRR{TLS: true, Connect: true, Resume: true, Size: 1 << 20}, ""}, {DNSRR{Lookup: true, TCP: true}, ""},
		{HTTPRR{Size: 1<<20 + 1}, "size 1048577 is outside 1..1048576 bytes"}, {HTTPRR{InFlight: 101}, "101 requests in flight is outside 1..100"}, {DNSRR{InFlight: 101}, "outside 1..100"},
		{HTTPRR{Rate: 1000001}, "rate 1000001 is outside 1..1000000 requests/s"}, {DNSRR{Rate: -1}, "rate -1 is outside"},
		{HTTPRR{H2: true, TLS: true}, "leave out tls, connect and resume"}, {HTTPRR{Resume: true, TLS: true}, "add tls: true and connect: true"},
		{UDPOpen{Rate: 2000000}, "rate 2000000 is outside 1..1000000 requests/s"},
		{UDPOpen{Rate: -1}, "rate -1 is outside"},
		{UDPOutage{}, ""}, {UDPOutage{Rate: 20001}, "rate 20001 is outside 10..20000/s"}, {ConnectOutage{}, ""}, {ConnectOutage{Size: 1025}, "size 1025 is outside 64..1024 bytes"}, {TCPOutage{}, ""}, {TCPOutage{Rate: 9}, "rate 9 is outside 10..20000/s"}, {UDPOutage{Size: 63}, "size 63 is outside 64..65507 bytes"},
	} {
		if err := tc.p.Check(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.p, err, tc.want)
		}
	}
}

// Tails come from the requests without stamps, the median from all.
func TestNativePlain(t *testing.T) {
	out := read(t, "testdata/native/1-udp-rr.out")
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var r event.RR
	if err := json.Unmarshal(lines[2], &r); err != nil {
		t.Fatal(err)
	}
	old, err := UDPRR{}.Parse(Output{Client: out})
	if err != nil {
		t.Fatal(err)
	}
	all, err := event.DecodeHist(r.Hist)
	if err != nil {
		t.Fatal(err)
	}
	parse := func(plain *hdrhistogram.Histogram) (Measured, error) {
		h, err := event.EncodeHist(plain)
		if err != nil {
			t.Fatal(err)
		}
		return UDPRR{}.Parse(Output{Client: bytes.Replace(out, []byte(`"hist":`), []byte(`"plainHist":"`+h+`","hist":`), 1)})
	}
	// The slowest requests are those with stamps.
	plain := event.NewHist()
	left := all.TotalCount() - r.Stamped
	for _, b := range all.Distribution() {
		n := min(b.Count, left)
		_ = plain.RecordValues(b.From, n)
		left -= n
	}
	m, err := parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range old.Values {
		at := slices.IndexFunc(m.Values, func(w record.Value) bool { return w.Name == v.Name })
		if at < 0 || (m.Values[at] == v) == (v.Name == "rtt.p99" || v.Name == "rtt.p999") {
			t.Errorf("%s: %v, %v without the stamped requests", v.Name, v.Value, m.Values)
		}
	}
	if i := slices.IndexFunc(m.Values, func(v record.Value) bool { return v.Name == "rtt.plain" }); i < 0 || m.Values[i].Value != quantile(plain, 50) {
		t.Errorf("%v", m.Values)
	}
	for want, bad := range map[string]func(h *hdrhistogram.Histogram){
		"had all stamps": func(h *hdrhistogram.Histogram) { _ = h.RecordValue(h.Min()) },
		"more requests of 2999": func(h *hdrhistogram.Histogram) {
			h.Reset()
			_ = h.RecordValue(30_000_000_000)
		},
		"plainHist of 0": func(h *hdrhistogram.Histogram) { h.Reset() },
	} {
		h := hdrhistogram.Import(plain.Export())
		bad(h)
		if _, err := parse(h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A pause in the sender's own schedule is not a stall.
func TestNativePause(t *testing.T) {
	for name, want := range map[string]float64{
		"tcp-stream": 0, "udp-stream": 0, "udp-rate": 144e-6, "udp-rate-streams": 3 * 144e-6, // 18 bytes at 1 Mbit/s
		"tcp-stream-paced": 2 * 2 * 65483 * 8 / 1e9,
	} {
		file := "testdata/native/1-" + name + ".out"
		m, err := nativeProbe(t, file).Parse(Output{Client: read(t, file)})
		if err != nil || math.Abs(m.Pause-want) > 1e-12 {
			t.Errorf("%s: a pause of %g s, want %g (%v)", name, m.Pause, want, err)
		}
	}
}
