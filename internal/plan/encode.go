package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
)

// String returns the step in the encoding of Encode.
func (s Step) String() string {
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Sprintf("a step in %s that cannot be encoded as JSON: %v", s.In, err)
	}
	return string(b)
}

// Encode writes p as lines of JSON, so a diff of two encodings names the step: one line per step in
// order, then {"end":…} per end, {"path":…}, one with {"between":…} per exception to it, {"line":…}
// if the hosts are in a line, and {"expect":…} per expectation.
func (p Plan) Encode(w io.Writer) error {
	enc := json.NewEncoder(w)
	var failed error
	line := func(v any) {
		if failed == nil {
			failed = enc.Encode(v)
		}
	}
	for _, s := range p.Steps {
		line(s)
	}
	for _, e := range p.Ends {
		line(map[string]End{"end": e})
	}
	line(map[string]Path{"path": p.Path})
	for _, between := range slices.Sorted(maps.Keys(p.Paths)) {
		line(map[string]any{"between": between, "path": p.Paths[between]})
	}
	if p.Line != nil {
		line(map[string][]string{"line": p.Line})
	}
	for _, e := range p.Expect {
		line(map[string]Expect{"expect": e})
	}
	if failed != nil {
		return fmt.Errorf("plan: encode: %w", failed)
	}
	return nil
}
