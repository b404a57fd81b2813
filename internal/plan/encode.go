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

// Encode writes p as lines of JSON: one line per step in order, then {"end":…} per
// end, {"path":…}, one with {"between":…} per exception to it, {"line":…} if the hosts
// are in a line, and {"expect":…} per expectation. A diff of two encodings therefore
// names the step.
func (p Plan) Encode(w io.Writer) error {
	enc := json.NewEncoder(w)
	for i, s := range p.Steps {
		if err := enc.Encode(s); err != nil {
			return fmt.Errorf("plan: step %d: %w", i+1, err)
		}
	}
	for _, e := range p.Ends {
		if err := enc.Encode(struct {
			End End `json:"end"`
		}{e}); err != nil {
			return fmt.Errorf("plan: end %s: %w", e.Node, err)
		}
	}
	type path struct {
		Between string `json:"between,omitempty"`
		Path    Path   `json:"path"`
	}
	paths := []path{{"", p.Path}}
	for _, between := range slices.Sorted(maps.Keys(p.Paths)) {
		paths = append(paths, path{between, p.Paths[between]})
	}
	for _, x := range paths {
		if err := enc.Encode(x); err != nil {
			return fmt.Errorf("plan: path %s: %w", x.Between, err)
		}
	}
	if p.Line != nil {
		if err := enc.Encode(struct {
			Line []string `json:"line"`
		}{p.Line}); err != nil {
			return fmt.Errorf("plan: line: %w", err)
		}
	}
	for _, e := range p.Expect {
		if err := enc.Encode(struct {
			Expect Expect `json:"expect"`
		}{e}); err != nil {
			return fmt.Errorf("plan: expectation in %s: %w", e.In, err)
		}
	}
	return nil
}
