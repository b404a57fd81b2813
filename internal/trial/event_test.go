package trial

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// However a trial goes, what its event did is undone once, at its time or at the end of the window.
func TestHappen(t *testing.T) {
	cut := plan.Step{In: "h1", Set: &plan.Set{Dev: "eth0", Down: true}}
	mend := plan.Step{In: "h1", Set: &plan.Set{Dev: "eth0", Up: true}}
	canceled := errors.New("canceled")
	for name, tc := range map[string]struct {
		lasts, window, cancel time.Duration // of the event, and of the window; when the run is canceled
		fails                 bool
		want                  []time.Duration // when steps were applied
		err                   string
	}{
		"ends by itself":   {lasts: 300, window: 1000, want: []time.Duration{200, 500}},
		"ends with it":     {window: 1000, want: []time.Duration{200, 1000}},
		"window ends":      {lasts: 900, window: 1000, want: []time.Duration{200, 1000}},
		"short window":     {lasts: 300, window: 100, err: "over before it was due"},
		"canceled before":  {lasts: 300, window: 1000, cancel: 100, err: "canceled"},
		"canceled in it":   {lasts: 300, window: 400, cancel: 250, want: []time.Duration{200, 250}},
		"cannot be caused": {lasts: 300, window: 1000, fails: true, want: []time.Duration{200, 200}, err: "event cut: no such device"},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			var got []time.Duration
			site := &target.Site{Clock: func() int64 { return int64(time.Since(begin)) }, Apply: func(ctx context.Context, steps []plan.Step) error {
				got = append(got, time.Since(begin)/time.Millisecond)
				if ctx.Err() != nil {
					t.Errorf("%s: %v is applied although %v", name, steps, ctx.Err())
				}
				if tc.fails && steps[0].Set.Down {
					return errors.New("no such device")
				}
				return nil
			}}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tc.cancel > 0 {
				time.AfterFunc(tc.cancel*time.Millisecond, func() { cancel(canceled) })
			}
			s := &Setup{Site: site, Event: plan.Event{Name: "cut", Do: []plan.Step{cut}, Undo: []plan.Step{mend},
				At: 200 * time.Millisecond, For: tc.lasts * time.Millisecond}}
			h := s.happen(ctx)
			time.Sleep(tc.window * time.Millisecond)
			err := h.finish()
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%s: %v, want %q", name, err, tc.err)
			}
			if toEnd := name != "ends by itself" && tc.cancel == 0 && len(tc.want) == 2 && !tc.fails; h.evidence().ToEnd != toEnd {
				t.Errorf("%s: lasted until the window was over: %v", name, h.evidence().ToEnd)
			}
			if len(got) != len(tc.want) || len(got) == 2 && [2]time.Duration(got) != [2]time.Duration(tc.want) {
				t.Errorf("%s: applied at %v, want %v", name, got, tc.want)
			}
		})
	}
	if h := (&Setup{}).happen(t.Context()); h != nil || h.finish() != nil || h.evidence() != nil {
		t.Errorf("nothing happens: %+v", h)
	}
}
