package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// undoTime bounds the undoing of an event, which goes on when the run is canceled.
const undoTime = 30 * time.Second

// A happening is an event in progress. The nil happening is none.
type happening struct {
	plan.Event
	site  *target.Site
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
	h := &happening{Event: s.Event, site: s.Site, over: make(chan struct{}), ended: make(chan struct{})}
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
	err := apply(ctx, h.site, h.Do, &h.did)
	if err == nil {
		var end <-chan time.Time // nil: never
		if h.For > 0 {
			end = time.After(h.For - time.Since(begun))
		}
		select {
		case <-end:
		case <-h.over:
			h.toEnd = true
		}
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	if bad := apply(undo, h.site, h.Undo, &h.undid); bad != nil {
		err = errors.Join(err, fmt.Errorf("undo: %w", bad))
	}
	return err
}

func apply(ctx context.Context, site *target.Site, steps []plan.Step, when *[2]int64) error {
	when[0] = site.Clock()
	err := site.Apply(ctx, steps)
	when[1] = site.Clock()
	return err
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
