package experiment

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/sample"
)

// othersFile keeps which programs outside the run used the machine.
const othersFile = "others.json"

const (
	mostOthers = 20              // programs to keep
	watchEvery = 5 * time.Second // between samples, which find programs that run for longer
	watchShare = 100             // a sample takes at most one part of so many
)

// An observer adds up the CPU time of programs outside the run, between blocks: a sample reads a file
// per process, which would disturb a trial.
type observer struct {
	read  func() (sample.Counters, error) // nil: nothing is known
	last  sample.Counters
	at    time.Time // of last
	next  time.Time
	total analysis.Others
	err   error
}

// look takes a sample if the last one is long ago, or in any case with now.
func (w *observer) look(now bool) {
	begin := time.Now()
	if w.read == nil || w.err != nil || !now && begin.Before(w.next) {
		return
	}
	c, err := w.read()
	if err != nil {
		w.err = fmt.Errorf("CPU time of other programs: %w", err)
		return
	}
	if w.last != nil {
		var used []analysis.Program
		for key, seconds := range c.Sub(w.last) {
			pid, name, _ := strings.Cut(key, " ")
			if id, err := strconv.Atoi(pid); err == nil && seconds > 0 {
				used = append(used, analysis.Program{PID: id, Name: name, CPU: seconds})
			}
		}
		w.total.Add(begin.Sub(w.at).Seconds(), used...)
	}
	w.last, w.at = c, begin
	w.next = begin.Add(max(watchEvery, watchShare*time.Since(begin)))
}

// watchOthers takes the first sample, and adds to what an interrupted run has stored.
func (r *run) watchOthers() error {
	r.others = observer{read: r.Others}
	b, err := r.stored(othersFile)
	if err != nil {
		return err
	}
	if b != nil {
		if err := json.Unmarshal(b, &r.others.total); err != nil {
			return fmt.Errorf("%s: %w", othersFile, err)
		}
	}
	r.others.look(true)
	return nil
}

// keepOthers takes the last sample and stores the programs that used most.
func (r *run) keepOthers() error {
	w := &r.others
	w.look(true)
	if w.err != nil {
		r.tell(Event{Warning: w.err.Error()})
	}
	if w.total.Seconds == 0 {
		return nil
	}
	w.total.Programs = w.total.Programs[:min(len(w.total.Programs), mostOthers)]
	return r.Dir.JSON(othersFile, w.total)
}
