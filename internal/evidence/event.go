package evidence

// An Event is what happened within a trial, and what its probe saw of it. Times are ns of CLOCK_MONOTONIC of the machine;
// 0 is never.
type Event struct {
	Name   string `json:"name,omitempty"` // "": nothing happened
	Begin  int64  `json:"begin,omitempty"`
	Done   int64  `json:"done,omitempty"`   // its steps had ended
	Undo   int64  `json:"undo,omitempty"`   // begin of undoing it
	Undone int64  `json:"undone,omitempty"` // it was undone
	ToEnd  bool   `json:"toEnd,omitempty"`  // it was undone because the window had ended

	Limit    int64   `json:"limit,omitempty"`    // ns: what the probe does not see as a gap is shorter
	From     int64   `json:"from"`               // begin of the window
	Bin      int64   `json:"bin"`                // ns; Arrivals counts what arrived in each since From
	Arrivals []int64 `json:"arrivals,omitempty"` // at the client
	Gaps     []Gap   `json:"gaps,omitempty"`     // the longest ones, in time order

	Changes []Change `json:"changes,omitempty"` // in the places of the run, from the event on
}

// The ways of a Gap.
const (
	RoundTrip = "round"
	There     = "there"
	Back      = "back"
)

// A Gap is a time in which nothing arrived that was sent.
type Gap struct {
	Way   string `json:"way"`
	Begin int64  `json:"begin"`
	End   int64  `json:"end"`            // when something arrived again, or the window ended
	Open  bool   `json:"open,omitempty"` // it had not ended when the window did
}

// A Change is something that the kernel told of while an event happened: what a control plane did, or what followed.
type Change struct {
	At    int64  `json:"at"` // ns of CLOCK_MONOTONIC, when weir heard of it
	In    string `json:"in"` // host or pod
	What  string `json:"what"`
	Dev   string `json:"dev,omitempty"`
	To    string `json:"to,omitempty"` // of a route the prefix, of a neighbor or address the address, of rules the program that changed them
	State string `json:"state"`
}

// What a Change is about, and its states. A neighbor is known if packets to it leave at once.
const (
	OfDevice   = "device"
	OfNeighbor = "neighbor"
	OfRoute    = "route"
	OfAddress  = "address"
	OfRules    = "rules" // of nf_tables, a transaction

	Up        = "up"
	NoCarrier = "no carrier"
	Down      = "down"
	Set       = "set"
	Gone      = "gone"
	Known     = "known"
	Unknown   = "unknown"
	Failed    = "failed"
)
