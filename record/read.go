package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/weir-bench/weir/internal/bounds"
)

// ErrNewer marks a line with an unknown, newer Format.
var ErrNewer = errors.New("a newer program wrote the line")

// A SyntaxError locates a bad line. Reading continues after it.
type SyntaxError struct {
	File string
	Line int // counted from 1
	Err  error
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }
func (e *SyntaxError) Unwrap() error { return e.Err }

// All yields every result in r; file is its name in errors. A bad line yields a *SyntaxError, and
// reading continues:
//
//   - a line without a result, or longer than MaxLine;
//   - a line of a newer Format: errors.Is(err, ErrNewer);
//   - a last line without its newline, because its writer was killed or is still writing:
//     errors.Is(err, io.ErrUnexpectedEOF).
//
// Any other error comes from r and ends the sequence. All ignores keys that Result lacks: a new key
// needs no new Format, but a new meaning of an old key does.
//
// Results share their maps: clone a map before changing it.
func All(r io.Reader, file string) iter.Seq2[*Result, error] {
	return func(yield func(*Result, error) bool) {
		br := bufio.NewReaderSize(r, 64<<10)
		var buf []byte
		var p parser
		for line := 1; ; line++ {
			var size int
			var err error
			buf, size, err = readLine(br, buf[:0])
			if err == io.EOF && size == 0 {
				return
			}
			if err != nil && err != io.EOF {
				yield(nil, fmt.Errorf("%s:%d: %w", file, line, err))
				return
			}
			res, bad := p.parse(buf, size, err == io.EOF)
			if bad != nil {
				res, bad = nil, &SyntaxError{file, line, bad}
			}
			if !yield(res, bad) || err == io.EOF {
				return
			}
		}
	}
}

// readLine appends the next line to buf, up to MaxLine, and returns its length in the file.
func readLine(br *bufio.Reader, buf []byte) ([]byte, int, error) {
	size := 0
	for {
		part, err := br.ReadSlice('\n')
		size += len(part)
		if size <= MaxLine {
			buf = append(buf, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buf, size, err
		}
	}
}

func (p *parser) parse(line []byte, size int, truncated bool) (*Result, error) {
	switch {
	case truncated:
		return nil, fmt.Errorf("incomplete last line of %d bytes, without a newline: %w", size, io.ErrUnexpectedEOF)
	case size > MaxLine:
		return nil, fmt.Errorf("line of %d bytes is longer than %d", size, MaxLine)
	}
	if err := bounds.Values(line, maxValues); err != nil {
		return nil, err
	}
	if r, ok := p.result(line); ok {
		return r, nil
	}
	r, err := slow(line)
	if err != nil && len(err.Error()) > maxSaid { // it repeats what it could not read
		err = errors.New(strings.ToValidUTF8(err.Error()[:maxSaid], "") + "…")
	}
	return r, err
}

const (
	// maxValues bounds the values and keys of a line: an empty value of three bytes takes hundreds in memory.
	maxValues = 250_000
	maxSaid   = 300 // bytes of an error
)

// slow reads any line of a known format. If a key has the wrong type, Unmarshal still reads the others.
func slow(line []byte) (*Result, error) {
	r := new(resultV1)
	err := json.Unmarshal(line, r)
	switch {
	case r.Format > Format:
		return nil, fmt.Errorf("format %d is newer than %d: %w; use a newer weir", r.Format, Format, ErrNewer)
	case err != nil:
		return nil, err
	case r.Format < 1:
		return nil, fmt.Errorf("format %d is outside 1 to %d", r.Format, Format)
	case r.Format == 1:
		return r.current(), nil
	}
	return &r.Result, nil
}
