package trial

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
)

// What has to be fragmented is counted where it is cut and where it is put together;
// what fits has no such values.
func TestFragments(t *testing.T) {
	for mtu, want := range map[int]map[string]float64{
		1400: {"fragments.sent": 12, "fragments.received": 9, "fragments.failed": 3, "fragments.waiting": 4096},
		1500: nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			s, cli, srv, _ := setup()
			s.Plan.Path.MTU = mtu
			s.Plan.Expect = s.Plan.Expect[:1]
			run := send(cli, srv)
			cli.run = func(ctx context.Context, argv []string, stdout, stderr io.Writer) error {
				cli.add(0, 0, 12)
				srv.mu.Lock()
				srv.reasm += 9
				srv.waiting = 4096
				srv.mu.Unlock()
				return run(ctx, argv, stdout, stderr)
			}
			start(t, &s)
			r, err := Run(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"fragments.sent", "fragments.received", "fragments.failed", "fragments.waiting"} {
				got, ok := r.Get(name)
				if ok != (want != nil) || got.Value != want[name] {
					t.Errorf("MTU %d: %s = %g (%t), want %g", mtu, name, got.Value, ok, want[name])
				}
			}
		})
	}
}
