package target

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
)

// A Mark takes readings while a program runs. When a line of its standard output begins with one of
// Lines, its host samples Sources, calls Take, and only then passes the line to Stdout. The delay
// to a distant coordinator is therefore not part of a window.
type Mark struct {
	Lines   []string
	Sources []string // of package sample, as the host sees them
	Take    func(Reading)
}

// maxMark exceeds the length of every entry of Mark.Lines, bytes.
const maxMark = 128

// Writer returns a program's standard output that implements m: it samples h and passes everything
// on to out. For a nil Mark it returns out.
func (m *Mark) Writer(ctx context.Context, h *Host, out io.Writer) io.Writer {
	if m == nil {
		return out
	}
	if out == nil {
		out = io.Discard
	}
	return &marker{mark: m, out: out, sample: func() Reading { return Sampled(h.Sample(ctx, m.Sources...)) }}
}

type marker struct {
	mark   *Mark
	out    io.Writer
	sample func() Reading
	line   []byte // start of the incomplete line
}

func (w *marker) Write(b []byte) (int, error) {
	passed := 0
	for part := range bytes.Lines(b) {
		w.line = append(w.line, part[:min(len(part), maxMark-len(w.line))]...)
		if bytes.HasSuffix(part, []byte("\n")) {
			if slices.ContainsFunc(w.mark.Lines, func(l string) bool { return strings.HasPrefix(string(w.line), l) }) {
				w.mark.Take(w.sample())
			}
			w.line = w.line[:0]
		}
		if _, err := w.out.Write(part); err != nil {
			return passed, err
		}
		passed += len(part)
	}
	return passed, nil
}
