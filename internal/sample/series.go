package sample

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weir-bench/weir/internal/bounds"
)

// SeriesFormat is the version of a line of a Series file. Readers refuse newer ones.
const SeriesFormat = 1

// A Series is what one trial sampled on one host while its client ran. A file of them has a line per host.
//
// Every column holds the growth of a counter since the sample before, so it has one number less than At,
// and its sum is the growth of the counter itself. A column without growth is missing.
type Series struct {
	Format int    `json:"format"`
	Host   string `json:"host"` // its ID
	// Begin and End are the edges of the measured window, on the scale of At.
	Begin int64   `json:"begin"`
	End   int64   `json:"end"`
	At    []int64 `json:"at"` // ns after the first sample, strictly ascending

	CPUs    int      `json:"cpus"`              // online; 0 if unknown or changed
	Modes   []Mode   `json:"modes,omitempty"`   // per CPU
	Threads []Thread `json:"threads,omitempty"` // the busiest first
	Devices []Device `json:"devices,omitempty"` // of the trial's ends
}

// A Mode is the time of a CPU in one mode of /proc/stat.
type Mode struct {
	CPU   string `json:"cpu"`   // cpu0 …
	Mode  string `json:"mode"`  // see CPUTimes
	Ticks []int  `json:"ticks"` // can be -1: idle time steps back
}

// A Thread is the CPU time of one thread. Before it was found and after its end it is -1: unknown.
type Thread struct {
	PID   int    `json:"pid"` // 0: a thread of the kernel
	TID   int    `json:"tid"`
	Place string `json:"place,omitempty"` // host or pod whose network namespace it is in; "" is the machine's own
	Name  string `json:"name"`            // see Threads
	Used  []int  `json:"us"`              // µs
}

// A Device is the traffic of a device in one direction. -1 is unknown.
type Device struct {
	End     string `json:"end"` // client or server
	Place   string `json:"place"`
	Dev     string `json:"dev"`
	Dir     string `json:"dir"` // rx or tx, as the device counts
	Bytes   []int  `json:"bytes"`
	Packets []int  `json:"packets"`
}

// UserHZ is the number of Ticks per second.
const UserHZ = userHZ

// FormatSeries returns the file of series; nil for none.
func FormatSeries(all []Series) ([]byte, error) {
	var b bytes.Buffer
	for _, s := range all {
		if err := json.NewEncoder(&b).Encode(s); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// Bounds of a line: an hour of a machine with a thousand busy threads, and what takes more than numbers do.
const (
	maxNumbers = 8 << 20
	maxColumns = 50_000
)

// ParseSeries parses a file of series. It returns an error unless it understands every line.
func ParseSeries(b []byte) (all []Series, err error) {
	for n, line := range bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n")) {
		var s Series
		err := bounds.Values(line, maxNumbers)
		if err == nil && bytes.Count(line, []byte("{")) > maxColumns {
			err = fmt.Errorf("more than %d columns", maxColumns)
		}
		if err == nil {
			err = json.Unmarshal(line, &s)
		}
		if s.Format > SeriesFormat {
			return nil, fmt.Errorf("line %d: format %d is newer than %d; use a newer weir", n+1, s.Format, SeriesFormat)
		}
		if err == nil {
			err = s.check()
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// A SeriesParser parses the files of many trials for readers that hold them at the same time: they share names, and
// columns take the memory that they need.
type SeriesParser struct{ names map[string]string }

// Parse is ParseSeries.
func (p *SeriesParser) Parse(b []byte) ([]Series, error) {
	all, err := ParseSeries(b)
	if p.names == nil {
		p.names = map[string]string{}
	}
	for i := range all {
		p.pack(&all[i])
	}
	return all, err
}

func (p *SeriesParser) pack(s *Series) {
	p.share(&s.Host)
	s.At, s.Modes, s.Threads, s.Devices = exactly(s.At), exactly(s.Modes), exactly(s.Threads), exactly(s.Devices)
	columns := make([]int, 0, (len(s.At)-1)*(len(s.Modes)+len(s.Threads)+2*len(s.Devices)))
	move := func(column *[]int) {
		from := len(columns)
		columns = append(columns, *column...)
		*column = columns[from:len(columns):len(columns)]
	}
	for i := range s.Modes {
		p.share(&s.Modes[i].CPU, &s.Modes[i].Mode)
		move(&s.Modes[i].Ticks)
	}
	for i := range s.Threads {
		p.share(&s.Threads[i].Place, &s.Threads[i].Name)
		move(&s.Threads[i].Used)
	}
	for i := range s.Devices {
		d := &s.Devices[i]
		p.share(&d.End, &d.Place, &d.Dev, &d.Dir)
		move(&d.Bytes)
		move(&d.Packets)
	}
}

// share replaces names by equal ones of earlier files.
func (p *SeriesParser) share(names ...*string) {
	for _, n := range names {
		if same, ok := p.names[*n]; ok {
			*n = same
		} else {
			p.names[*n] = *n
		}
	}
}

// exactly copies a slice into an array without room for more; encoding/json leaves some.
func exactly[T any](s []T) []T {
	if s == nil {
		return nil
	}
	return append(make([]T, 0, len(s)), s...)
}

// enoughSeen is the share of a window in which a thread must be known for its share of a CPU.
const enoughSeen = 0.7

// Share returns a thread's share of one CPU in the window, false if too little of it is known. A running
// thread's time is up to a tick old at both edges, so the share can exceed 1 by that.
func (s *Series) Share(t Thread) (share float64, ok bool) {
	used, seen := 0.0, 0.0 // ns
	for i, us := range t.Used {
		from, to := s.At[i], s.At[i+1]
		in := float64(min(to, s.End)-max(from, s.Begin)) / float64(to-from)
		if us < 0 || in <= 0 {
			continue
		}
		used += in * 1e3 * float64(us)
		seen += in * float64(to-from)
	}
	return used / seen, seen >= enoughSeen*float64(s.End-s.Begin)
}

// longest bounds times, ns: longer than any trial, and sums of columns do not overflow.
const longest = 1e15

func (s *Series) check() error {
	if s.Format < 1 || len(s.At) < 2 || s.At[0] != 0 {
		return fmt.Errorf("format %d, %d samples: want format 1 and two samples or more, the first at 0", s.Format, len(s.At))
	}
	for i, at := range s.At[1:] {
		if at <= s.At[i] || at > longest {
			return fmt.Errorf("sample %d at %d ns follows one at %d ns: want ascending times up to %g", i+1, at, s.At[i], longest)
		}
	}
	if s.Begin < 0 || s.End <= s.Begin || s.End > s.At[len(s.At)-1] || s.CPUs < 0 {
		return fmt.Errorf("a window from %d to %d ns on %d CPUs: want one inside the %d samples", s.Begin, s.End, s.CPUs, len(s.At))
	}
	column := func(what string, v []int) error {
		if len(v) != len(s.At)-1 {
			return fmt.Errorf("%.60s has %d numbers: want %d", what, len(v), len(s.At)-1)
		}
		for _, n := range v {
			if n < -1 || n > longest {
				return fmt.Errorf("%.60s has %d: want -1 to %g", what, n, longest)
			}
		}
		return nil
	}
	var errs []error
	for _, m := range s.Modes {
		errs = append(errs, column(m.CPU+" "+m.Mode, m.Ticks))
	}
	for _, t := range s.Threads {
		errs = append(errs, column(t.Name, t.Used))
	}
	for _, d := range s.Devices {
		errs = append(errs, column(d.Dev+" bytes", d.Bytes), column(d.Dev+" packets", d.Packets))
	}
	return errors.Join(errs...)
}
