package trial

import (
	"testing"

	"github.com/weir-bench/weir/internal/sample"
)

func TestBusiest(t *testing.T) {
	spans := map[string]span{
		"a": {Counters: sample.Counters{"cpu.softirq": 1.5, "cpu0.softirq": 0.3, "cpu11.softirq": 1.2, "cpu11.user": 2}, seconds: 2},
		"b": {Counters: sample.Counters{"cpu.softirq": 0.5, "cpu0.softirq": 0.5}, seconds: 2},
	}
	if got := busiest(spans); got != 0.6 {
		t.Errorf("%v of a CPU, want 0.6", got)
	}
}
