package analysis

import "github.com/weir-bench/weir/record"

// A Split is the parts of a response time, in s: medians over blocks of medians over requests,
// which add up only roughly.
type Split struct {
	Path float64 // from the sender's first device to the receiver's namespace, there and back
	Wake float64 // from there until the program has the message, at both ends
	App  float64 // the rest: the programs, and sending down to the device
}

// Split returns false if the trials do not report the parts.
func (r Row) Split() (Split, bool) {
	path, ok1 := r.Get(record.RTTPath)
	wake, ok2 := r.Get(record.RTTWake)
	app, ok3 := r.Get(record.RTTApp)
	return Split{path.Median, wake.Median, app.Median}, ok1 && ok2 && ok3
}
