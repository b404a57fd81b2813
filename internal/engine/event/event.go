// Package event is what `weir engine` prints for other programs: one JSON object
// per line, the bounds of what it accepts, and the reader of its output.
//
// The engine prints these types, package probe reads them and package trial waits
// for the lines, so the contract is written here and nowhere else. The package does
// no I/O and imports nothing of weir.
package event

import "encoding/json"

// Version is the version of the lines. A reader refuses results of any other.
const Version = 1

// The kinds of lines: the value of the key "event", which comes first.
const (
	KindReady  = "ready"  // a server listens, or a hog is on its CPUs
	KindBegin  = "begin"  // the measured window begins
	KindEnd    = "end"    // it ends
	KindResult = "result" // the last line of a run that succeeded
	KindError  = "error"  // the last line of one that failed
	KindCount  = "count"  // the answer to a line of standard input
)

// What lines of each kind begin with. Programs that wait for a line compare its
// first bytes and decode nothing, since counters are read the moment it arrives.
const (
	Mark       = `{"event":` // any line
	MarkReady  = Mark + `"` + KindReady + `"`
	MarkBegin  = Mark + `"` + KindBegin + `"}` // the whole line
	MarkEnd    = Mark + `"` + KindEnd + `"}`   // the whole line
	MarkResult = Mark + `"` + KindResult + `"`
	MarkError  = Mark + `"` + KindError + `"`
	MarkCount  = Mark + `"` + KindCount + `"`
)

// Ready says that a server accepts clients, or that a hog runs.
type Ready struct {
	Event   string `json:"event"`             // KindReady
	Address string `json:"address,omitempty"` // where a server listens
	Token   string `json:"token,omitempty"`   // only if the server made it
	CPUs    []int  `json:"cpus,omitempty"`    // that a hog keeps busy
}

// Error says why there is no result.
type Error struct {
	Event string `json:"event"` // KindError
	Error string `json:"error"`
}

// A Count is what a program that runs during a measurement has done so far. The
// difference between two counts is what it did in between.
type Count struct {
	Event string `json:"event"` // KindCount
	At    int64  `json:"at"`    // ns, on the program's own clock

	// Of a server.
	Bytes    int64 `json:"bytes,omitempty"`
	Messages int64 `json:"messages,omitempty"`

	// Of a hog: ns of CPU time.
	CPU int64 `json:"cpu,omitempty"`
}

// Line returns v as the engine prints it, newline included.
func Line(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(b, '\n'), err
}
