package analysis

import (
	"cmp"
	"slices"

	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Thread is a thread that used CPU time in the measured windows of a cell. Threads of one name in one
// place count as one: in each trial, the busiest of them.
type Thread struct {
	Place   string        `json:"place,omitempty"` // host, pod or end whose network namespace it is in; "" is the machine's own
	Program string        `json:"program"`
	Thread  string        `json:"thread,omitempty"` // its name in the program, if it has one
	Share   stat.Interval `json:"share"`            // of one CPU, the median over blocks; holds by itself
	// Full means that the thread cannot do more: it uses a whole CPU, or it is the engine's client, is never idle, and
	// its share is at least nearlyFull.
	Full bool `json:"full,omitempty"`
	// NeverIdle means that the thread, the engine's client, always had work: it ran, or waited for a CPU, for at least
	// FullShare of the time. Its share alone does not show that where others ran on its CPU.
	NeverIdle bool `json:"-"`
	// Unresolved means that the share is above 1 by more than the counters resolve: no number to print.
	Unresolved bool `json:"unresolved,omitempty"`
}

const (
	// FullShare is the share of one CPU from which a thread is at 100 %: interrupts, other threads, and a
	// tick at each edge of the window take the rest.
	FullShare = 0.95
	// nearlyFull is the least share of a full thread that is never idle: others took less than a tenth of its CPU.
	nearlyFull = 0.9
	// threadStep is the error of a share at both edges of a window together, s: the kernel updates the time of
	// a running thread at ticks of 1 to 10 ms.
	threadStep = 0.02
)

// engineThreads are the engine's workload threads by their own clocks, for trials of versions that did not
// watch others.
var engineThreads = map[record.Key]Thread{
	record.CPUOwn.At("client"): {Place: "client", Program: sample.EngineClient},
	record.CPUOwn.At("server"): {Place: "server", Program: sample.EngineServer},
}

// Name is the program, or program/thread.
func (t Thread) Name() string {
	if t.Thread == "" {
		return t.Program
	}
	return t.Program + "/" + t.Thread
}

// Engine reports whether t is a thread of weir's traffic generator.
func (t Thread) Engine() bool {
	return t.Program == sample.EngineClient || t.Program == sample.EngineServer || t.Program == sample.EngineLoad
}

// Threads returns the threads of the row's counted trials, the busiest first; nil if the trials did not
// record them. The caller must not change them.
func (r Row) Threads() []Thread {
	if r.counted == nil {
		return nil
	}
	if r.counted.threads == nil {
		all := r.threads()
		r.counted.threads = &all
	}
	return *r.counted.threads
}

func (r Row) threads() (out []Thread) {
	var blocks []int // that recorded threads
	for _, n := range r.counted.names {
		if n.Name == record.CPUThread {
			known, _ := Common(r.counted.values[n.Key])
			blocks = append(blocks, known...)
		}
	}
	slices.Sort(blocks)
	blocks = slices.Compact(blocks)
	for _, n := range r.counted.names {
		t, own := engineThreads[n.Key]
		if n.Name == record.CPUThread {
			t = Thread{Place: n.Place, Program: n.Program, Thread: n.Thread}
		} else if !own || blocks != nil || record.Streams.Of(r.Observed) > 1 {
			continue // or several threads
		}
		known, v := Common(r.counted.values[n.Key])
		shares := v[0]
		if blocks != nil {
			shares = make([]float64, len(blocks)) // trials leave out threads that hardly ran
			for i, b := range known {
				at, _ := slices.BinarySearch(blocks, b)
				shares[at] = v[0][i]
			}
		}
		t.NeverIdle = t.Program == sample.EngineClient && r.clientNeverIdle()
		t.judge(stat.Median(shares, single), r.shortest())
		out = append(out, t)
	}
	slices.SortStableFunc(out, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(b.Share.Center, a.Share.Center), cmp.Compare(a.Place, b.Place), cmp.Compare(a.Name(), b.Name()))
	})
	return out
}

// judge sets the share, and what it means in windows of this length, s.
func (t *Thread) judge(share stat.Interval, window float64) {
	if t.Unresolved = share.Center > 1+threadStep/window; !t.Unresolved {
		for _, v := range []*float64{&share.Center, &share.Lo, &share.Hi} {
			*v = max(0, min(*v, 1))
		}
	}
	t.Share = share
	t.Full = !t.Unresolved && (t.WholeCPU() || t.NeverIdle && share.Center >= nearlyFull)
}

// WholeCPU reports whether the interval of the share, or the estimate without one, is at least FullShare.
func (t *Thread) WholeCPU() bool {
	if t.Share.Bounded() {
		return t.Share.Lo >= FullShare
	}
	return t.Share.Center >= FullShare
}

// clientNeverIdle is Thread.NeverIdle of the engine's client.
func (r Row) clientNeverIdle() bool {
	_, ok := Exceeds(r.Evidence(), FullShare, func(o Observed) (part, whole float64) {
		e := o.Evidence
		if record.Streams.Of(o.Observed) > 1 || e.Sender.CPU == 0 {
			return 0, 0 // several threads, or no clock
		}
		return e.Sender.CPU + e.Sender.Wait, e.Window
	})
	return ok
}

// shortest returns the length of the row's windows, s; 1 if the trials do not say.
func (r Row) shortest() float64 {
	if w, ok := r.Get(record.Window); ok && w.Median > 0 {
		return w.Median
	}
	return 1
}

// InUse returns the cores that all programs on the hosts of the trial's ends used in the window, as top(1)
// shows them, and the number of their CPUs; false if the trials did not record both.
func (r Row) InUse() (cores stat.Interval, cpus float64, ok bool) {
	if r.counted == nil {
		return cores, 0, false
	}
	used, all := r.counted.Values(record.CPUUsed), r.counted.Values(record.CPUs)
	if used.Len() == 0 || all.Len() == 0 {
		return cores, 0, false
	}
	if cores, cpus = stat.Median(used.medians(), single), stat.Middle(all.medians()); cpus <= 0 {
		return stat.Interval{}, 0, false
	}
	for _, v := range []*float64{&cores.Center, &cores.Lo, &cores.Hi} {
		*v = max(0, min(*v, cpus)) // idle time has steps
	}
	return cores, cpus, true
}
