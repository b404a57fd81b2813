package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

// A fakeHost is a machine with 4 CPUs and a clock of its own.
type fakeHost struct {
	id     string
	origin time.Duration                     // of its clock
	others func(time.Duration) time.Duration // CPU time that others have used since begin; nil: none
	begin  time.Time
	kernel string

	mu   sync.Mutex
	own  time.Duration // CPU time of trials
	lost bool
}

func newHost(id string, origin time.Duration) *fakeHost {
	return &fakeHost{id: id, origin: origin, begin: time.Now(), kernel: "6.1"}
}

func (h *fakeHost) work(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.own += d
}

func (h *fakeHost) lose(lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = lost
}

// gone returns how calls fail.
func (h *fakeHost) gone() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost {
		return fmt.Errorf("%s: %w: no heartbeat", h.id, target.ErrLost)
	}
	return nil
}

func (h *fakeHost) sample(_ context.Context, sources ...string) (target.Reading, error) {
	if err := h.gone(); err != nil {
		return target.Reading{}, err
	}
	on, others := time.Since(h.begin), time.Duration(0)
	if h.others != nil {
		others = h.others(on)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r := target.Reading{At: h.origin + on, Counters: sample.Counters{}}
	for _, source := range sources {
		switch source {
		case sample.OfStat:
			r.Counters["cpu.user"] = (h.own + others).Seconds()
			r.Counters["cpu.idle"] = 4*on.Seconds() - r.Counters["cpu.user"]
			for cpu := range 4 {
				r.Counters[fmt.Sprintf("cpu%d.idle", cpu)] = r.Counters["cpu.idle"] / 4
			}
		case sample.OfOwnProcesses:
			r.Counters["proc.user"], r.Counters["proc.system"] = h.own.Seconds(), 0
		case sample.OfOthers:
			r.Counters[sample.OtherPrefix+"77 hog"] = others.Seconds()
		}
	}
	return r, nil
}

// A tool is a probe whose client prints its rate, bit/s.
type tool struct{ argv0 string }

// Info lists the tool unless it is weir itself.
func (t tool) Info() (i probe.Info) {
	if t.argv0 != "weir" {
		i.Tools = []facts.ToolInfo{{Program: t.argv0, Package: t.argv0}}
	}
	return i
}

func (t tool) Commands(probe.Window) (server, client []string) {
	return []string{t.argv0, "engine", "serve"}, []string{t.argv0, "engine", "measure"}
}

func (tool) Parse(o probe.Output) (probe.Measured, error) {
	var result struct{ Rate float64 }
	_, last, _ := bytes.Cut(o.Client, []byte(event.MarkEnd))
	if err := json.Unmarshal(last, &result); err != nil || result.Rate == 0 {
		return probe.Measured{}, fmt.Errorf("tool: %q is no result", o.Client)
	}
	return probe.Measured{Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: result.Rate}}, Protocol: "tcp"}, nil
}

// measured is Run, with the results that it leaves, those of earlier runs in the directory included.
func measured(ctx context.Context, c Config) ([]record.Result, error) {
	err := Run(ctx, c)
	rs, readErr := c.Dir.Results()
	return rs, errors.Join(err, readErr)
}

func counts(rs []record.Result) map[record.Status]int {
	n := map[record.Status]int{}
	for _, r := range rs {
		n[r.Status]++
	}
	return n
}
