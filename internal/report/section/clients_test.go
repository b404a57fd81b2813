package section

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// Sweeps over the number of clients show one client and the total.
func TestClientSweeps(t *testing.T) {
	r := reporttest.Run(t)
	all := r.Results
	r.Results = nil
	for _, n := range []int{1, 4, 9} {
		for _, x := range all {
			x.Config = maps.Clone(x.Config)
			x.Config["clients"] = strconv.Itoa(n)
			if x.Status == record.OK {
				x.Values = append(slices.Clip(x.Values), record.Value{Name: "clients.delivered", Unit: x.Values[0].Unit, Value: float64(n) * 1e6})
				if x.Config["probe"] == "udp-rr" {
					x.Values[len(x.Values)-1].Unit = "1/s"
				}
			}
			r.Results = append(r.Results, x)
		}
	}
	page := write(t, writers["html"], r)
	for _, c := range []struct {
		caption string
		n       int // probes that have it
	}{
		{"Throughput of one client by clients", 2}, {"Throughput of all clients together", 2},
		{"Packet rate of all clients together", 1}, {"Transactions of all clients together", 1},
		{"Response time of one client by clients", 1}, {"99th percentile of one client&#39;s response time", 1},
		{"Jitter of one client", 2}, {"Loss of one client&#39;s datagrams", 2},
		{"Ratio to host by clients", 4},
	} {
		if n := strings.Count(page, "<figcaption>"+c.caption+"</figcaption>"); n != c.n {
			t.Errorf("%d charts are %q, want %d", n, c.caption, c.n)
		}
	}
	if !strings.Contains(page, "all clients is their sum") || strings.Contains(write(t, writers["html"], reporttest.Run(t)), "of one client") {
		t.Error("whose numbers these are stands where there are several clients, and nowhere else")
	}
}
