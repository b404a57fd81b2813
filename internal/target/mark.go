package target

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
)

// A Mark asks for readings while a program runs. When a line on its standard output
// begins with one of Lines, its host samples Sources there and then, by its own
// clock, calls Take, and only then passes the line on to Stdout. So no time on the
// way to a distant coordinator becomes part of a window.
type Mark struct {
	Lines   []string
	Sources []string // of package sample, as the host sees them
	Take    func(Reading)
}

// maxMark is longer than any line that Mark.Lines can tell apart, bytes.
const maxMark = 128

// Writer returns what a node gives a program as its standard output to keep m: it
// samples h and passes everything on to out. A nil Mark returns out.
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
	line   []byte // beginning of the line that is not complete yet
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
