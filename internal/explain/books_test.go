package explain

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/record"
)

// Each book's parts and what they leave make its whole; a machine that others use has no book of CPU time.
func TestBooks(t *testing.T) {
	for name, c := range map[string]struct {
		outside float64 // cores
		want    map[string]string
	}{
		"quiet": {0.05, map[string]string{
			"packets": "packets of udp-rr: of 120,000 sent, 1,200 were lost, 0 of them at steps that counters show; 1,200 of 1,200 unexplained",
			"cpu":     "CPUs in use (udp-rr): 1.60; by sending and receiving threads 1.40, by threads of the network and the kernel 0.10, by what the machines do besides 0.05; 0.05 of 1.60 unexplained",
			"time":    "response time (udp-rr): path 3 µs, wake-up 20 µs, programs and sending 25 µs; 2 µs of 50 µs unexplained"}},
		"busy": {0.9, map[string]string{"packets": "", "time": ""}},
	} {
		var rs []record.Result
		o := analysis.Options{Baseline: "host", Evidence: map[string]*evidence.Trial{}, KeepDisturbed: true}
		for block := 1; block <= 12; block++ {
			r := record.Result{Trial: fmt.Sprint("b", block), Block: block, Status: record.OK, Elapsed: 1, Start: time.Unix(int64(block), 0), Config: map[string]string{"network": "host", "probe": "udp-rr"},
				Values: []record.Value{{Name: record.RTT, Unit: "s", Value: 50e-6}, {Name: record.Transactions, Unit: "transaction/s", Value: 2e4}, {Name: record.Loss, Unit: "1", Value: 0.01},
					{Name: record.RTTPath, Unit: "s", Value: 3e-6}, {Name: record.RTTWake, Unit: "s", Value: 20e-6}, {Name: record.RTTApp, Unit: "s", Value: 25e-6}, {Name: record.RTTStamped, Unit: "s", Value: 50e-6},
					{Name: record.CPUUsed, Unit: "core", Value: 1.6}, {Name: record.CPUUsedBaseline, Unit: "core", Value: c.outside}, {Name: record.CPUOwn, Unit: "core", Value: 1.4}, {Name: record.CPUOwnPerTransaction, Unit: "s/transaction", Value: 70e-6},
					record.CPUThread.Thread("h1", "weir-relay", "").Value("core", 0.1), record.CPUThread.Thread("h1", "weir", "client").Value("core", 0)}}
			rs = append(rs, r)
			o.Evidence[r.Trial] = &evidence.Trial{Format: evidence.Format, Protocol: "udp", Path: []evidence.Hop{{In: "h1", Dev: "eth0", Out: true, Data: evidence.Flow{Packets: 1e4, Bytes: 1e6}}}}
		}
		x := New(Premises{Run: analysis.New(rs, o), Short: func(p string) string { return p }})
		got := map[string]Book{}
		for _, b := range x.Networks[0].Books {
			got[b.Of] = b
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %d books, want %d", name, len(got), len(c.want))
		}
		for of, want := range c.want {
			if b := got[of]; want != "" && b.Text.String() != want || math.Abs(b.Left) > b.Whole {
				t.Errorf("%s: %s: %+v\nwant %s", name, of, b, want)
			}
		}
	}
}

// Parts that exceed their whole are no negative residue.
func TestResidue(t *testing.T) {
	whole := func(v float64) string { return fmt.Sprintf("%.0f", math.Abs(v)) }
	for left, want := range map[float64]string{3: "3 of 10 unexplained", 0: "0 of 10 unexplained", -0.2: "0 of 10 unexplained", -4: "together they exceed 10 by 4"} {
		if got := residue(left, 10, whole).String(); got != want {
			t.Errorf("%v: %q, want %q", left, got, want)
		}
	}
}
