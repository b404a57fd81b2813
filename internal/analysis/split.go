package analysis

// Values that split a response time (package probe).
const (
	pathValue = "rtt.path"
	wakeValue = "rtt.wake"
	appValue  = "rtt.app"
)

// A Split is the parts of a response time, in s: medians over blocks of medians over requests,
// which add up only roughly.
type Split struct {
	Path float64 // from the sender's first device to the receiver's namespace, there and back
	Wake float64 // from there until the program has the message, at both ends
	App  float64 // the rest: the programs, and sending down to the device
}

// Split returns false if the trials do not report the parts.
func (r Row) Split() (Split, bool) {
	path, ok1 := r.Get(pathValue)
	wake, ok2 := r.Get(wakeValue)
	app, ok3 := r.Get(appValue)
	return Split{path.Median, wake.Median, app.Median}, ok1 && ok2 && ok3
}
