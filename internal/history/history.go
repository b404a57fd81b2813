// Package history remembers the ratios of the runs on this machine, to know how much runs differ: the
// interval of one run covers only that run, and the spread between earlier runs is the best guess of
// what it leaves out.
//
// The history is one file of JSON lines, spread.jsonl, that its user can read and delete. It holds
// ratios, names of networks and probes, and the CPU model, kernel and number of cores of the machine;
// no host names, addresses or paths. It must never fail a run: callers turn errors into notes.
package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
)

// format is the version of the lines. Readers skip lines of other versions.
const format = 1

// A Machine is what must be equal for two runs to have the same spread.
type Machine struct {
	CPU    string `json:"cpu,omitempty"`   // model
	CPUs   int    `json:"cpus"`            // online
	Kernel string `json:"kernel"`          // release
	Guest  string `json:"guest,omitempty"` // kind of one of weir's own virtual machines
}

// ID returns 12 hexadecimal digits that differ between machines.
func (m Machine) ID() string { return digest(m.CPU, fmt.Sprint(m.CPUs), m.Kernel, m.Guest)[:12] }

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// A Cell is what must be equal for two ratios to measure the same thing.
type Cell struct {
	Probe    string            `json:"probe"`
	Network  string            `json:"network"`
	Baseline string            `json:"baseline"`         // network; for a ratio of a contrast, the levels compared
	Levels   map[string]string `json:"levels,omitempty"` // of all other factors
	Metric   string            `json:"metric"`
	Setup    string            `json:"setup,omitempty"` // digest of the options of network, baseline, probe and topology
}

// Digest returns 12 hexadecimal digits for Setup.
func Digest(setup ...string) string { return digest(setup...)[:12] }

// Key returns a text that is equal for equal cells only.
func (c Cell) Key() string {
	b, _ := json.Marshal(c) // strings, in a fixed order
	return string(b)
}

// An Entry is one ratio of one run.
type Entry struct {
	Format  int       `json:"format"`
	Run     string    `json:"run"` // differs between runs
	Time    time.Time `json:"time"`
	ID      string    `json:"machine"`
	Machine Machine   `json:"facts"`
	Weir    string    `json:"weir,omitempty"` // version
	Cell
	Log float64 `json:"log"` // natural logarithm of the ratio
	SE  float64 `json:"se"`  // of Log, within the run
	DF  float64 `json:"df,omitempty"`
}

func (e Entry) check() error {
	finite := func(v float64) bool { return math.Abs(v) <= 100 } // of a logarithm; NaN is not
	switch {
	case e.Format != format:
		return fmt.Errorf("format %d: want %d", e.Format, format)
	case e.Run == "" || e.ID == "" || e.Probe == "" || e.Network == "":
		return errors.New("run, machine, probe and network are required")
	case !finite(e.Log) || !finite(e.SE) || e.SE < 0 || !(e.DF >= 0 && e.DF <= math.MaxInt32):
		return fmt.Errorf("log %v, se %v, df %v: want finite numbers", e.Log, e.SE, e.DF)
	}
	return nil
}

// A Run names a run to remember.
type Run struct {
	ID      string
	Time    time.Time
	Machine Machine
	Weir    string
}

// Entries returns the ratios of a run. cell identifies a row, ofContrast one of a contrast.
func Entries(run Run, a *analysis.Run, cell func(*analysis.Table, *analysis.Row) Cell, ofContrast func(analysis.Contrast, analysis.ContrastRow) Cell) (out []Entry) {
	add := func(ratio stat.Interval, of func() Cell) {
		if ratio.N > 0 && ratio.Center > 0 {
			out = append(out, Entry{Format: format, Run: run.ID, Time: run.Time, ID: run.Machine.ID(), Machine: run.Machine, Weir: run.Weir,
				Cell: of(), Log: math.Log(ratio.Center), SE: ratio.LogSE(), DF: ratio.DF})
		}
	}
	for t, row := range a.Rows() {
		add(row.Ratio, func() Cell { return cell(t, row) })
	}
	for _, c := range a.Contrasts {
		for _, row := range c.Rows {
			add(row.Ratio, func() Cell { return ofContrast(c.Contrast, row) })
		}
	}
	return out
}

// Spreads returns by key the spread of every cell that at least analysis.MinSpread runs on a machine
// have measured well enough to say something about it. It leaves out the run called without, whose interval is to
// be widened.
func Spreads(entries []Entry, machine, without string) map[string]analysis.Spread {
	byCell := map[string]map[string]stat.Interval{} // by run: the last line of a run and cell counts
	for _, e := range entries {
		if e.ID != machine || e.Run == without {
			continue
		}
		k := e.Key()
		if byCell[k] == nil {
			byCell[k] = map[string]stat.Interval{}
		}
		byCell[k][e.Run] = stat.Interval{Center: math.Exp(e.Log), N: 1, SE: e.SE, DF: e.DF}
	}
	out := map[string]analysis.Spread{}
	for k, runs := range byCell {
		var is []stat.Interval
		for _, run := range slices.Sorted(maps.Keys(runs)) {
			is = append(is, runs[run])
		}
		if s, n := stat.Earlier(is); n >= analysis.MinSpread {
			out[k] = analysis.Spread{Tau: s.Tau, Runs: n, DF: s.DF}
		}
	}
	return out
}

// File returns the path of the history: $XDG_STATE_HOME/weir/spread.jsonl, by default below
// ~/.local/state (XDG Base Directory Specification 0.8, which wants absolute paths only).
func File() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) {
			return "", fmt.Errorf("no directory for the history: XDG_STATE_HOME is %q and HOME %q; set one to an absolute path", dir, home)
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "weir", "spread.jsonl"), nil
}
