package engine

import (
	"bufio"
	"fmt"
	"io"

	"github.com/weir-bench/weir/internal/engine/event"
)

// events reports a run: to programs as JSON lines, each in one write so that it is seen
// the moment it happens; to people in words (console.go).
type events struct {
	w         io.Writer
	questions io.Reader // lines to answer; nil: none
	order     bool      // from an agent: servers are open, and addresses literal
	console   *console  // nil: print JSON
}

func (e events) begin() error {
	if e.console != nil {
		e.console.begin()
		return nil
	}
	return e.write(event.MarkBegin + "\n")
}

func (e events) end() error {
	if e.console != nil {
		e.console.end()
		return nil
	}
	return e.write(event.MarkEnd + "\n")
}

func (e events) print(v any) error {
	if e.console != nil {
		return e.write(inWords(v))
	}
	line, err := event.Line(v)
	if err != nil {
		return fmt.Errorf("engine: output: %w", err)
	}
	return e.write(string(line))
}

func (e events) write(line string) error {
	if _, err := io.WriteString(e.w, line); err != nil {
		return fmt.Errorf("engine: output: %w", err)
	}
	return nil
}

// seconds converts nanoseconds.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// answer prints what is returns for every question, until the questions end.
func (e events) answer(is func() any) {
	if e.questions == nil {
		return
	}
	for lines := bufio.NewScanner(e.questions); lines.Scan(); {
		if e.print(is()) != nil {
			return // the reader is gone
		}
	}
}
