package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
)

// undoTime bounds the undoing of an event, which goes on when the run is canceled.
const undoTime = 30 * time.Second

// A happening is an event in progress. The nil happening means no event.
type happening struct {
	plan.Event
	site  *target.Site
	near  target.Node   // of the client, whose clock stamps what the probe saw
	over  chan struct{} // closed when the window is over
	ended chan struct{} // closed when the event is undone
	// When its steps began and ended: ns of CLOCK_MONOTONIC of this machine; 0: they did not.
	did, undid [2]int64
	toEnd      bool // it was undone because the window was over
	changes    []evidence.Change
	err        error
}

// happen starts the trial's event: the window begins now.
func (s *Setup) happen(ctx context.Context) *happening {
	if s.Event.Name == "" {
		return nil
	}
	h := &happening{Event: s.Event, site: s.Site, near: s.Site.Nodes[s.Client.Node], over: make(chan struct{}), ended: make(chan struct{})}
	due := time.NewTimer(h.At)
	go func() {
		defer close(h.ended)
		defer due.Stop()
		if err := caught.Error(func() error { return h.run(ctx, due) }); err != nil {
			h.err = fmt.Errorf("event %s: %w", h.Name, err)
		}
	}()
	return h
}

// run waits until the event is due, and undoes whatever it did.
func (h *happening) run(ctx context.Context, due *time.Timer) error {
	select {
	case <-due.C:
	case <-h.over:
		return errors.New("the window was over before it was due")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if h.site.Changes != nil {
		stop, err := h.site.Changes(context.WithoutCancel(ctx))
		if err != nil {
			return fmt.Errorf("watch the kernel: %w", err)
		}
		defer func() {
			<-h.over
			h.changes, _ = stop() // what was heard is true
		}()
	}
	begun := time.Now()
	err := h.apply(ctx, h.Do, &h.did)
	if err == nil {
		var end <-chan time.Time // nil: never
		if h.For > 0 {
			end = time.After(h.For - time.Since(begun))
		}
		select {
		case <-end:
		case <-h.over:
			h.toEnd = true
		case <-ctx.Done(): // at once: a command that is interrupted has a second or two left
		}
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	if bad := h.apply(undo, h.Undo, &h.undid); bad != nil {
		err = errors.Join(err, fmt.Errorf("undo: %w", bad))
	}
	return err
}

// apply applies steps, and stamps when they began and had ended.
func (h *happening) apply(ctx context.Context, steps []plan.Step, when *[2]int64) (err error) {
	before, late := h.now(ctx)
	if late == nil {
		err = h.site.Apply(ctx, steps)
		when[0] = before
		when[1], late = h.now(ctx)
	}
	return errors.Join(err, late)
}

// now is CLOCK_MONOTONIC of the client's machine, ns. If that is another machine, it is the moment at which that
// machine was asked: a step began after the moment before it, and had ended by the moment after it.
func (h *happening) now(ctx context.Context) (int64, error) {
	if h.site.Clock != nil {
		return h.site.Clock(), nil
	}
	r, err := h.near.Sample(ctx, sample.OfSoftnet)
	return int64(r.At), err
}

// finish returns when the event is undone; the window is over.
func (h *happening) finish() error {
	if h == nil {
		return nil
	}
	close(h.over)
	<-h.ended
	return h.err
}

// evidence returns when the event happened.
func (h *happening) evidence() *evidence.Event {
	if h == nil {
		return nil
	}
	return &evidence.Event{Name: h.Name, Begin: h.did[0], Done: h.did[1], Undo: h.undid[0], Undone: h.undid[1], ToEnd: h.toEnd, Changes: h.changes}
}
