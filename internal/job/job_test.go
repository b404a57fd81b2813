package job

import (
	"regexp"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

// heard is what a job has told the user.
type heard []string

func (h *heard) Say(t lang.Text) { *h = append(*h, t.String()) }
func (h *heard) Warn(ts ...lang.Text) {
	for _, t := range ts {
		h.Say("weir: " + t)
	}
}
func (h *heard) Note(t lang.Text) { h.Warn("note: " + t) }

// The log of a run has every event, each with its time.
func TestLogged(t *testing.T) {
	var log strings.Builder
	shown := 0
	event := logged(&log, func(experiment.Event) { shown++ })
	event(experiment.Event{Text: "block 1", Warning: "look out"})
	event(experiment.Event{Result: &record.Result{Trial: "b001-host", Status: record.Failed, Elapsed: 1, Reason: "the cable is cut"}})
	event(experiment.Event{})
	got := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d{3} `).ReplaceAllString(log.String(), "")
	if want := "block 1\nlook out\nb001-host failed in 1.00 s the cable is cut\n"; got != want || shown != 3 {
		t.Errorf("%q, want %q; %d events shown", got, want, shown)
	}
}

func TestPatiently(t *testing.T) {
	if err := Patiently(t.Context(), new(heard), "x", func() error { panic("y") }); err == nil || !strings.Contains(err.Error(), "internal error: y") {
		t.Error(err)
	}
}
