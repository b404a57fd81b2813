package packettrace

import (
	"encoding/json"
	"io"
	"testing"
)

// A trace's file is one of a results directory, which can come from anywhere.
func FuzzParse(f *testing.F) {
	for _, t := range []Trace{{Format: Format}, {Format: Format, Event: 1e-6, Traced: 3e-6, Path: 1e-6}} {
		b, err := json.Marshal(t)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		trace, err := Parse(b)
		if err != nil {
			return
		}
		if err := trace.Text(io.Discard, nil); err != nil {
			t.Error(err)
		}
		trace.Notes()
		trace.Picture()
	})
}
