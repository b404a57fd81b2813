// Package record is the format of weir's results: a JSON object per line, a line per trial. Other
// programs can depend on this package only.
//
// It must not know how a number was measured or is displayed. Values are in base units.
package record

import "time"

// Format is the version of the line format. Readers refuse newer ones, and read format 1, too.
const Format = 2

// A Status is the outcome of a trial. Reports show all trials but aggregate only OK ones.
type Status string

const (
	OK      Status = "ok"      // measured, and every expectation held
	Invalid Status = "invalid" // measured, but an expectation failed or a value is impossible
	Failed  Status = "failed"  // a program of the trial failed
	Skipped Status = "skipped" // not started: a requirement is missing
	// Disturbed is an ok trial while something outside the run used the machine. The analysis
	// decides it from neighboring trials; it is never stored.
	Disturbed Status = "disturbed"
)

// A Result is everything known about one trial.
type Result struct {
	Format  int       `json:"format"`
	Trial   string    `json:"trial"` // unique in a results directory; names its folder in raw/
	Block   int       `json:"block"` // counted from 1
	Status  Status    `json:"status"`
	Reason  string    `json:"reason,omitempty"` // why the status is not ok
	Start   time.Time `json:"start"`
	Elapsed float64   `json:"elapsed"` // seconds, of the whole trial

	// Config holds the level of every factor: "network", "probe", and all others that the study
	// varies or sets. Trials with equal Config form one cell.
	Config map[string]string `json:"asked"`
	// Observed holds what the trial saw but the study did not set. A report names differences inside a cell.
	Observed Observed `json:"found,omitempty"`

	// Values holds the numbers. The first is the probe's metric, which compares networks.
	Values []Value `json:"values,omitempty"`
	Notes  []Note  `json:"notes,omitempty"`
}
