// Package event is the output of `weir engine`: one JSON object per line, the bounds of its input,
// and the reader of its output.
//
// The engine prints these types, package probe reads them and package trial waits for the lines, so
// the contract is only here. The package does no I/O and imports nothing of weir.
package event

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Version is the version of the lines. Readers refuse results of any other.
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

// The beginning of each kind of line. Programs that wait for a line compare its first bytes and
// decode nothing, since counters are read the moment it arrives.
const (
	Mark       = `{"event":` // any line
	MarkReady  = Mark + `"` + KindReady + `"`
	MarkBegin  = Mark + `"` + KindBegin + `"}` // the whole line
	MarkEnd    = Mark + `"` + KindEnd + `"}`   // the whole line
	MarkResult = Mark + `"` + KindResult + `"`
	MarkError  = Mark + `"` + KindError + `"`
	MarkCount  = Mark + `"` + KindCount + `"`
)

type Ready struct {
	Event   string `json:"event"`             // KindReady
	Address string `json:"address,omitempty"` // where a server listens
	Token   string `json:"token,omitempty"`   // only if the server made it
	CPUs    []int  `json:"cpus,omitempty"`    // that a hog keeps busy
}

// Error is why a run has no result.
type Error struct {
	Event   string   `json:"event"` // KindError
	Error   string   `json:"error"`
	Blocked *Blocked `json:"blocked,omitempty"` // if the path is why
}

// Blocked is what a path does not carry.
type Blocked struct {
	// Protocol does not get through at all: tcp or udp (TCP does); "" if small packets of both do.
	Protocol string `json:"protocol,omitempty"`
	// Then Carries is the size of the largest IP packet that came back, and Not the size of the smallest
	// that did not, bytes with headers.
	Carries int `json:"carries,omitempty"`
	Not     int `json:"not,omitempty"`
}

// A Count is the progress of a program that runs during a measurement: subtract two.
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

// maxCount bounds counts: a float64 holds every whole number up to it.
const maxCount = 1 << 53

// Read decodes the result of a workload from the output of a run into result, a pointer to one of
// the result types. Only the two marks can come before the result, and nothing after it. Every
// field that is always printed must be there, and no number can be negative. Read returns an error
// event as an error.
func Read(out []byte, workload string, result any) error {
	marks := []string{MarkBegin, MarkEnd}
	var fields map[string]json.RawMessage
	for line := range bytes.Lines(out) {
		line = bytes.TrimSpace(line)
		switch {
		case fields != nil:
			return fmt.Errorf("output continues after the result: %.80q", line)
		case len(marks) > 0 && string(line) == marks[0]:
			marks = marks[1:]
			continue
		}
		var kind Error
		var all map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal(line, &kind), json.Unmarshal(line, &all)); err != nil {
			return fmt.Errorf("line %.80q: %w", line, err)
		}
		switch {
		case kind.Event == KindError:
			return errors.New(cmp.Or(strings.TrimPrefix(kind.Error, "engine: "), "error without text"))
		case kind.Event != KindResult || len(marks) > 0:
			return fmt.Errorf("unexpected line %.80q: want begin, end and a result in this order", line)
		}
		fields = all
	}
	if fields == nil {
		return errors.New("the output ends before the result")
	}
	var head Head
	if err := decode(fields, reflect.ValueOf(&head).Elem()); err != nil {
		return err
	}
	switch {
	case head.Engine != Version:
		return fmt.Errorf("result of version %d, this program reads version %d", head.Engine, Version)
	case head.Workload != workload:
		return fmt.Errorf("result of %q, not of %s", head.Workload, workload)
	}
	return decode(fields, reflect.ValueOf(result).Elem())
}

// decode fills a struct field by field, so that errors name the key.
func decode(fields map[string]json.RawMessage, to reflect.Value) error {
	for _, f := range reflect.VisibleFields(to.Type()) {
		name, option, tagged := strings.Cut(f.Tag.Get("json"), ",")
		raw, ok := fields[name]
		switch {
		case f.Anonymous:
			continue // its fields are visible themselves
		case (!ok || string(raw) == "null") && tagged && option == "omitempty":
			continue
		case !ok || string(raw) == "null":
			return fmt.Errorf("%s is missing", name)
		}
		v := to.FieldByIndex(f.Index)
		if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
			if v.CanInt() {
				return fmt.Errorf("impossible: %s is %.40s, not a count", name, raw)
			}
			return fmt.Errorf("%s: %w", name, err)
		}
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		switch {
		case v.CanFloat() && v.Float() < 0, v.CanInt() && v.Int() < 0:
			return fmt.Errorf("impossible: %s is %s", name, raw)
		case v.CanInt() && v.Int() > maxCount:
			return fmt.Errorf("impossible: %s is %s, more than %d", name, raw, int64(maxCount))
		}
	}
	return nil
}
