package packettrace

import (
	"fmt"
	"testing"

	"github.com/weir-bench/weir/internal/sample"
)

func TestDevices(t *testing.T) {
	before := map[string]sample.Counters{"h1": {"dev.eth0.rx_packets": 5, "dev.eth0.tx_packets": 7, "dev.lo.rx_packets": 1}}
	after := map[string]sample.Counters{"h1": {"dev.eth0.rx_packets": 105, "dev.eth0.tx_packets": 108, "dev.eth0.rx_bytes": 1e6, "dev.lo.rx_packets": 3, "dev.lo.tx_packets": 2}}
	if got := fmt.Sprint(Devices(before, after, 100)); got != "[{h1 eth0 1 1.01}]" {
		t.Error(got)
	}
}
