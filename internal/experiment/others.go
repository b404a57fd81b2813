package experiment

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
)

// othersFile keeps which programs outside the run used the machine.
const othersFile = "others.json"

const (
	mostOthers = 20              // programs to keep
	watchEvery = 5 * time.Second // between samples; shorter programs can be missed
	watchShare = 100             // samples take at most 1/watchShare of the time
)

// An observer adds up the CPU time of programs outside the run, between blocks: a sample reads a file
// per process, which would disturb a trial.
type observer struct {
	read  func() (sample.Counters, error) // of this machine; nil: nothing is known
	last  sample.Counters
	at    time.Time                 // of last
	hosts func() []namedHost        // machines that others use, too
	seen  map[string]target.Reading // the last of each, by name
	next  time.Time
	total analysis.Others
	err   error
}

// look takes a sample if one is due, or if now is set.
func (w *observer) look(ctx context.Context, now bool) {
	begin := time.Now()
	if w.err != nil || !now && begin.Before(w.next) {
		return
	}
	w.lookHere(begin)
	w.lookAt(ctx, w.hosts())
	w.next = begin.Add(max(watchEvery, watchShare*time.Since(begin)))
}

func (w *observer) lookHere(begin time.Time) {
	if w.read == nil {
		return
	}
	c, err := w.read()
	if err != nil {
		w.err = fmt.Errorf("CPU time of other programs: %w", err)
		return
	}
	if w.last != nil {
		w.total.Add(begin.Sub(w.at).Seconds(), programs(c.Sub(w.last))...)
	}
	w.last, w.at = c, begin
}

// lookAt samples machines, each by its own clock. One that does not answer is asked again next time; one
// that hides its processes shows none.
func (w *observer) lookAt(ctx context.Context, hosts []namedHost) {
	taken := make([]target.Reading, len(hosts))
	errs := atOnce(indices(hosts), func(i int) (err error) {
		taken[i], err = hosts[i].Sample(ctx, sample.OfOthers)
		return err
	})
	for i, h := range hosts {
		is, was := taken[i], w.seen[h.name]
		if errs[i] != nil || len(is.Missing) > 0 {
			continue
		}
		if was.Counters != nil && is.At > was.At {
			w.total.AddOn(h.name, (is.At - was.At).Seconds(), programs(is.Counters.Sub(was.Counters))...)
		}
		w.seen[h.name] = is
	}
}

// programs returns those that used CPU time.
func programs(grown sample.Counters) (used []analysis.Program) {
	for key, seconds := range grown {
		pid, name, _ := strings.Cut(strings.TrimPrefix(key, sample.OtherPrefix), " ")
		if id, err := strconv.Atoi(pid); err == nil && seconds > 0 {
			used = append(used, analysis.Program{PID: id, Name: name, CPU: seconds})
		}
	}
	return used
}

// watchOthers takes the first sample. It adds to the times that an interrupted run has stored.
func (r *run) watchOthers(ctx context.Context) error {
	r.others = observer{read: r.Others, hosts: r.shared, seen: map[string]target.Reading{}}
	b, err := r.stored(othersFile)
	if err != nil {
		return err
	}
	if b != nil {
		if err := bounds.JSON(b, &r.others.total); err != nil {
			return fmt.Errorf("%s: %w", othersFile, err)
		}
	}
	r.others.look(ctx, true)
	return nil
}

// keepOthers takes the last sample and stores the programs that used most.
func (r *run) keepOthers(ctx context.Context) error {
	w := &r.others
	w.look(ctx, true)
	if w.err != nil {
		r.tell(Event{Warning: w.err.Error()})
	}
	if w.total.Seconds == 0 {
		return nil
	}
	w.total.Programs = w.total.Programs[:min(len(w.total.Programs), mostOthers)]
	return r.Dir.JSON(othersFile, w.total)
}
