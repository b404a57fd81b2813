package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// A trial proves that packets met the delay, and says what limits the program that delays them.
func TestDistance(t *testing.T) {
	far := topo.Distance{Delay: 5 * time.Millisecond, Jitter: time.Millisecond, Loss: 0.001}
	for _, c := range []struct {
		name     string
		distance topo.Distance
		rtt      time.Duration
		delays   sample.Counters
		err      error
		status   record.Status
		says     string // the reason, or a warning
	}{
		{"long enough", far, 8 * time.Millisecond, nil, nil, record.OK, ""},
		{"too short", far, 8*time.Millisecond - 1, nil, nil, record.Invalid,
			"a packet and its answer took 7.999999ms, less than the 8ms that a delay of 5ms (jitter 1ms) allows"},
		{"not measured", far, 0, nil, nil, record.Invalid, "took 0s"},
		{"exact", far, 10 * time.Millisecond, sample.Counters{"packets": 100, "late99": 1e-3, "busy": 0.5}, nil, record.OK, ""},
		{"late", far, 10 * time.Millisecond, sample.Counters{"packets": 100, "late99": 1.3e-3}, nil, record.OK, "the delay is inexact"},
		{"no room", far, 10 * time.Millisecond, sample.Counters{"packets": 100, "dropped": 1}, nil, record.OK, "limited by the delay program, not by the network: it dropped"},
		{"late without a delay", topo.Distance{}, time.Millisecond, sample.Counters{"late99": 1.1e-3}, nil, record.OK, "or by 1 ms where it is 0"},
		{"busy", topo.Distance{}, time.Millisecond, sample.Counters{"busy": 0.95}, nil, record.OK, "limited by the delay program, not by the network: its thread"},
		{"no counts", far, 10 * time.Millisecond, nil, errors.New("gone"), record.OK, "counts of the delayed packets are missing: gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _, _, _ := setup()
				start(t, &s)
				s.Distance, s.RTT = c.distance, c.rtt
				calls := 0
				s.Site.Delays = func(context.Context) (sample.Counters, error) {
					if calls++; calls == 1 {
						return sample.Counters{"dropped": 1e6}, nil // of an earlier trial
					}
					return c.delays, c.err
				}
				r, err := Run(t.Context(), s)
				if err != nil || r.Status != c.status {
					t.Fatalf("%s: %s, %v", r.Status, r.Reason, err)
				}
				if said := fmt.Sprint(r.Notes, r.Reason); !strings.Contains(said, c.says) || c.says == "" && strings.Contains(said, "delay") {
					t.Errorf("says %q, want %q", said, c.says)
				}
				if got, ok := r.Observed["path.delay"]; ok != (c.distance != topo.Distance{}) || ok && got != c.distance.Delay.String() {
					t.Errorf("delay %q is recorded", got)
				}
				if v, _ := r.Get("delay.rtt"); v.Value != c.rtt.Seconds() {
					t.Errorf("round trip of %g s is recorded", v.Value)
				}
				if v, ok := r.Get("delay.packets"); ok != (c.delays != nil) || v.Value != c.delays["packets"] {
					t.Errorf("%g packets are recorded", v.Value)
				}
			})
		})
	}
}
