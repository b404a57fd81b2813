package finding

import (
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/record"
)

// responses makes a result one of a loop of requests: in a window of s seconds, some were answered in about 100 µs and some
// after 1 s.
func responses(r *record.Result, s float64, fast, slow int64) {
	h := hdrhistogram.New(1, 3_600_000_000_000, 3)
	for i := range fast {
		_ = h.RecordValue(100_000 + 200*int64((r.Block+int(i))%5)) // within the bounds
	}
	for range slow {
		_ = h.RecordValue(1_001_000_000)
	}
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(err) // of a histogram that was made above
	}
	values := []record.Value{{Name: record.RTT, Unit: "s", Value: float64(h.ValueAtQuantile(50)) / 1e9, Hist: string(b)},
		{Name: record.Transactions, Unit: "1/s", Value: float64(fast+slow) / (s + float64(slow))}}
	for _, v := range r.Values {
		if !v.Name.In(record.Throughput, record.PacketRate, record.CPUOwnPerBit) {
			values = append(values, v)
		}
	}
	r.Values = values
}

// The numbers of late responses are counted, and nothing that did not happen is.
func TestLateOnes(t *testing.T) {
	for want, n := range map[string][3]int64{
		"; of 900 responses, 10 took 200 ms or longer":                                                       {10, 0, 0},
		"; of 900 responses, 10 took 1 s or longer":                                                          {10, 10, 0},
		"; of 900 responses, 10 took 3 s or longer":                                                          {10, 10, 10},
		"; of 900 responses, 10 took 200 ms or longer, 4 of them 1 s or longer":                              {10, 4, 0},
		"; of 900 responses, 10 took 200 ms or longer, 4 of them 3 s or longer":                              {10, 4, 4},
		"; of 900 responses, 1,000 took 200 ms or longer, 40 of them 1 s or longer, 7 of them 3 s or longer": {1000, 40, 7},
		"": {},
	} {
		if got := lateOnes(n, 900).String(); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
}

// A median hides what few slow responses cost; the rate of work does not, and the kernel's timers are named where
// segments were sent again.
func TestSlowResponses(t *testing.T) {
	for _, c := range []struct {
		name       string
		fast, slow int64
		again      float64
		twice      float64 // of these, segments that had arrived
		there      int64   // slow ones of the baseline
		want       string  // "" for no finding
	}{
		{"dropped SYNs", 100, 20, 25, 0, 0, ": TCP sends a lost segment again after 200 ms or more, and a lost SYN after 1 s and 3 s"},
		{"waits without retransmissions", 100, 20, 0, 0, 0, "; of 1,440 responses, 240 took 1 s or longer; TCP sent next to nothing again, so why is not known"},
		{"answers that are late and not lost", 100, 20, 25, 20, 0, "; most of what TCP sent again had arrived and was late, and why is not known"},
		{"nothing slow", 900, 0, 0, 0, 0, ""},
		{"the same in the baseline", 900, 20, 25, 0, 20, ""},
	} {
		rs, o := watched("tcp", func(o observed) {
			responses(o.Result, 0.1, c.fast, c.slow)
			o.Nodes["h1p1"]["tcp.RetransSegs"], o.Nodes["h1p1"]["netstat.TCPDSACKRecv"] = c.again, c.twice
		})
		for i := range rs {
			if rs[i].Config["network"] == "host" {
				responses(&rs[i], 0.1, 900, c.there)
			}
		}
		got := ""
		for _, f := range Check(analysis.New(rs, o)) {
			if f.Rule == "slow-responses" && f.Cells[0].Network == "vx" {
				got = f.Text.String()
			}
		}
		if c.want == "" && got != "" || !strings.HasSuffix(got, c.want) || c.want != "" && !strings.Contains(got, "; host's 9") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
