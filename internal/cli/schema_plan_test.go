package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/weir-bench/weir/internal/plan"
)

// oneOf is a document that is like one of several.
type oneOf []any

// The lines of a plan after its steps, as plan.Encode writes them.
type (
	endLine struct {
		End plan.End `json:"end"`
	}
	pathLine struct {
		Between string    `json:"between,omitempty"` // FROM-TO, two labels: an exception to the path without this key
		Path    plan.Path `json:"path"`
	}
	lineLine struct {
		Line []string `json:"line"` // the hosts in order, if each reaches only its neighbors
	}
	expectLine struct {
		Expect plan.Expect `json:"expect"`
	}
)

// The plans of all networks are valid, line by line.
func TestPlansAreValid(t *testing.T) {
	s := validator(t, "plan")
	files, err := filepath.Glob("../network/testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatalf("no plans: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			if line[0] == '{' { // not the error of a topology that the network refuses
				validate(t, s, file, line)
			}
		}
	}
}
