package experiment

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// The other clients start before the trial, end after it, and are always cleaned up.
func TestClients(t *testing.T) {
	why, refused := errors.New("enough"), errors.New("no way")
	begin := []string{"run begins", "run begins", "serve begins", "serve begins"}
	end := []string{"run ends", "run ends", "serve ends", "serve ends"}
	for _, c := range []struct {
		name   string
		dies   map[string]time.Duration
		reach  error // for the other clients
		idle   bool
		cancel bool // in the first trial
		status record.Status
		reason string
		begin  []string
		end    []string
	}{
		{name: "ok", status: record.OK, begin: begin, end: end},
		{name: "they are starved", idle: true, status: record.OK, begin: begin, end: end},
		{name: "the run is canceled", cancel: true, begin: begin, end: end},
		{name: "they die", dies: map[string]time.Duration{"run": time.Second / 2}, status: record.Invalid,
			reason: "client h2: killed: it did not run to the end of the trial; client h3: killed", begin: begin},
		{name: "they do not start", dies: map[string]time.Duration{"serve": 0}, status: record.Failed, reason: "client h2: killed; client h3: killed"},
		{name: "they are not connected", reach: refused, status: record.Failed, reason: "client h2: no way"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				s := fakeStudy(1)
				s.Factors = map[string][]string{"clients": {"3"}}
				m := &machine{dies: c.dies, idle: c.idle}
				reached := 0
				m.reach = func(string) error {
					if reached++; reached > len(s.Networks) { // the measured clients come first
						return c.reach
					}
					return nil
				}
				if c.cancel {
					m.measure = func(ctx context.Context, _ string, _ int) (float64, error) {
						cancel(why)
						<-ctx.Done()
						return 0, context.Cause(ctx)
					}
				}
				conf := config(t, m, s, filepath.Join(t.TempDir(), "out"))
				conf.Probe = func(string, map[string]string) (probe.Probe, error) { return &probe.TCPStream{}, nil }
				for name := range conf.Networks {
					conf.Networks[name] = on(t, plain{}, topo.Spec{Hosts: 4})
				}
				rs, err := measured(ctx, conf)
				if c.cancel != errors.Is(err, why) || !c.cancel && (err != nil || len(rs) != 2) {
					t.Fatalf("%d results, %v", len(rs), err)
				}
				for _, r := range rs {
					if r.Status != c.status || !strings.HasPrefix(r.Reason, c.reason) {
						t.Errorf("%s is %s: %s", r.Trial, r.Status, r.Reason)
					}
					all, _ := r.Get("clients.delivered")
					if want := map[bool]float64{true: 1e9, false: 1e9 + 2*8000}[c.idle]; c.status == record.OK && (all.Value != want || all.Unit != "bit/s") {
						t.Errorf("%s: %+v was delivered to all, want %g", r.Trial, all, want)
					}
				}
				for _, site := range m.sites {
					did := m.log.of(site.name)
					if c.cancel && len(did) == 0 {
						continue // the other network was canceled
					}
					at := slices.Index(did, "trial")
					if at < 0 {
						at = len(did)
					}
					before, after := slices.Sorted(slices.Values(did[:at])), slices.Sorted(slices.Values(did[min(at+1, len(did)):]))
					if c.begin != nil && !slices.Equal(before, c.begin) || c.end != nil && !slices.Equal(after, c.end) {
						t.Errorf("%s: before the trial %q, after it %q", site.name, before, after)
					}
					if all := strings.Join(did, ","); strings.Count(all, "begins") != strings.Count(all, "ends") {
						t.Errorf("%s: not all that began has ended: %q", site.name, did)
					}
				}
			})
		})
	}
}
