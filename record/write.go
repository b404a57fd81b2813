package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// MaxLine is the longest line, in bytes with its newline, that Write writes and All reads. A line
// with histograms has some 10 KiB.
const MaxLine = 16 << 20

// Write writes r as one line of the current Format, whatever r.Format is, in one call of w.Write.
// It writes nothing for NaN and infinite numbers, which JSON lacks, and names the first.
func Write(w io.Writer, r *Result) error {
	if err := finite("elapsed", r.Elapsed); err != nil {
		return fmt.Errorf("result of trial %q: %w", r.Trial, err)
	}
	for _, v := range r.Values {
		if err := finite("value "+v.Key().String(), v.Value); err != nil {
			return fmt.Errorf("result of trial %q: %w", r.Trial, err)
		}
	}
	line := *r
	line.Format = Format
	var b bytes.Buffer
	enc := json.NewEncoder(&b) // also ends the line
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&line); err != nil {
		return fmt.Errorf("result of trial %q: %w", r.Trial, err)
	}
	if b.Len() > MaxLine {
		return fmt.Errorf("result of trial %q: the line has %d bytes, more than %d", r.Trial, b.Len(), MaxLine)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func finite(name string, f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%s is %g: want a finite number", name, f)
	}
	return nil
}
