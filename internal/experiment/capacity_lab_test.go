package experiment

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// The capacity of a shaped link is known by arithmetic. A search never finds more, although the
// link's queue holds more than a phase; such a trial is invalid. It does not find much less,
// although a busy machine can need several searches to come near.
func TestCapacityOfALink(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	const searches, enough, least = 8, 0.9, 0.5
	near, fail := errors.New("near enough"), nstest.Judge(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	c := labConfig(t, labStudy(searches), results(t, filepath.Join(t.TempDir(), "out")), topo.Spec{Rate: 100e6})
	c.Probe = func(string, map[string]string) (probe.Probe, error) { return &probe.UDPCapacity{Size: 1400}, nil }
	best := map[string]float64{}
	c.Progress = func(e Event) {
		switch r := e.Result; {
		case r == nil:
		case r.Status != record.OK:
			t.Logf("%s is %s: %s", r.Trial, r.Status, r.Reason)
			if strings.Contains(r.Reason, "the headers leave of the link") {
				t.Errorf("%s found more than there is", r.Trial)
			}
		default:
			ceiling, err := strconv.ParseFloat(r.Observed["ceiling"], 64)
			if err != nil || r.Values[0].Name != "capacity" || r.Observed["capacity"] != "PDR 0.5%" || r.Observed["limit"] == "" {
				t.Errorf("%s: %+v, %v, %v", r.Trial, r.Values[0], r.Observed, err)
			}
			network := r.Config["network"]
			best[network] = max(best[network], r.Values[0].Value/ceiling)
		}
		if min(best["host"], best["vxlan-overlay"]) > enough {
			cancel(near)
		}
	}
	rs, err := measured(ctx, c)
	if err != nil && !errors.Is(err, near) {
		t.Fatal(err)
	}
	if min(best["host"], best["vxlan-overlay"]) < least {
		fail("%d searches found only %v of the ceiling", len(rs), best)
	}
}
