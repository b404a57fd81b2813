package analysis

import (
	"slices"
	"testing"

	"github.com/weir-bench/weir/record"
)

func TestSweeps(t *testing.T) {
	var rs []record.Result
	for _, offload := range []string{"on", "off"} {
		for _, size := range []string{"9k", "64", "1400"} {
			rs = append(rs, result(1, "host", "udp-stream", 1, "size", size, "offload", offload))
		}
	}
	rs = append(rs, result(1, "host", "ping", 1, "size", "64"), result(1, "host", "ping", 1, "size", "1400"))
	got := New(rs, Options{}).Sweeps(3)
	if len(got) != 2 || got[0].Factor != "size" || got[0].Levels["offload"] != "off" || !slices.Equal(got[0].X, []float64{64, 1400, 9000}) {
		t.Errorf("sweeps %+v", got)
	}
	if got = New(rs, Options{}).Sweeps(2); len(got) != 3 || got[0].Probe != "ping" || !slices.Equal(got[0].X, []float64{64, 1400}) {
		t.Errorf("lines between two levels %+v", got)
	}
	rs = nil
	for _, stress := range []string{"100%", "0", "25%"} {
		rs = append(rs, result(1, "host", "udp-stream", 1, "stress", stress, "load", "tcp-stream@50%"))
	}
	got = New(rs, Options{}).Sweeps(2)
	if len(got) != 1 || got[0].Factor != "stress" || !slices.Equal(got[0].X, []float64{0, 25, 100}) {
		t.Errorf("sweeps %+v", got)
	}
}
