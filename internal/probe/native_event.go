package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/record"
)

// nativeVersion is the version of the result lines that is understood.
const nativeVersion = 1

// maxCount bounds counts: a float64 holds every whole number up to here.
const maxCount = 1 << 53

// A nativeResult is the result line of `weir engine`. Reading a number that is
// missing or impossible yields 0 and sets err, once for all of them.
type nativeResult struct {
	fields map[string]json.RawMessage
	err    error
}

// parseNative finds the result of a workload. What precedes it must be the two
// marks, and nothing may follow it.
func parseNative(out []byte, workload string) (*nativeResult, error) {
	marks := []string{MarkBegin, MarkEnd}
	var r *nativeResult
	for line := range bytes.Lines(out) {
		line = bytes.TrimSpace(line)
		switch {
		case r != nil:
			return nil, fmt.Errorf("weir engine: output goes on after the result: %.80q", line)
		case len(marks) > 0 && string(line) == marks[0]:
			marks = marks[1:]
			continue
		}
		e := &nativeResult{fields: map[string]json.RawMessage{}}
		if err := json.Unmarshal(line, &e.fields); err != nil {
			return nil, fmt.Errorf("weir engine: line %.80q: %w", line, err)
		}
		switch event := e.text("event"); {
		case event == "error":
			said := strings.TrimPrefix(e.text("error"), "engine: ")
			return nil, fmt.Errorf("weir engine: %s", or(said, "an error without words"))
		case event != "result" || len(marks) > 0:
			return nil, fmt.Errorf("weir engine: unexpected line %.80q, not begin, end and a result in this order", line)
		}
		r = e
	}
	if r == nil {
		return nil, errors.New("weir engine: the output ends before the result")
	}
	if v := r.count("engine"); r.err == nil && v != nativeVersion {
		return nil, fmt.Errorf("weir engine: result of version %g, this program reads version %d", v, nativeVersion)
	}
	if got := r.text("workload"); r.err == nil && got != workload {
		return nil, fmt.Errorf("weir engine: result of %q, not of %s", got, workload)
	}
	return r, r.err
}

func (r *nativeResult) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("weir engine: "+format, args...)
	}
}

// require records that the result is impossible unless ok.
func (r *nativeResult) require(ok bool, format string, args ...any) {
	if !ok {
		r.fail("impossible: "+format, args...)
	}
}

func (r *nativeResult) get(name string, v any) {
	raw, ok := r.fields[name]
	if !ok || string(raw) == "null" {
		r.fail("%s is missing", name)
		return
	}
	if err := json.Unmarshal(raw, v); err != nil {
		r.fail("%s: %w", name, err)
	}
}

func (r *nativeResult) text(name string) string {
	var s string
	r.get(name, &s)
	return s
}

// number returns a number that is not negative.
func (r *nativeResult) number(name string) float64 {
	var v float64
	r.get(name, &v)
	if v < 0 {
		r.fail("impossible: %s is %g", name, v)
		return 0
	}
	return v
}

// count returns a whole number that is not negative.
func (r *nativeResult) count(name string) float64 {
	v := r.number(name)
	if v > maxCount || v != math.Trunc(v) {
		r.fail("impossible: %s is %g, not a count", name, v)
		return 0
	}
	return v
}

// seconds returns a time that is not zero.
func (r *nativeResult) seconds(name string) float64 {
	v := r.number(name)
	if v == 0 {
		r.fail("impossible: %s is 0 s", name)
		return 1
	}
	return v
}

// measured returns the values and settings, unless something was wrong: err, or a
// number that arithmetic made infinite.
func (r *nativeResult) measured(protocol string, values []record.Value, settings ...string) (Measured, error) {
	found := map[string]string{"tool": "weir engine"}
	for _, name := range settings {
		if raw := r.fields[name]; len(raw) > 0 && raw[0] == '"' {
			found[name] = r.text(name)
		} else {
			found[name] = strconv.FormatFloat(r.count(name), 'f', -1, 64)
		}
	}
	for _, v := range values {
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Value < 0 {
			r.fail("impossible: %s is %g %s", v.Name, v.Value, v.Unit)
		}
	}
	if r.err != nil {
		return Measured{}, r.err
	}
	m := Measured{Values: values, Found: found, Protocol: protocol}
	if protocol != "tcp" {
		m.Datagram = int(r.count("size"))
	}
	return m, nil
}
