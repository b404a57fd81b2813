package engine

import (
	"fmt"
	"io"

	"github.com/weir-bench/weir/internal/engine/event"
)

// version is that of the protocol between client and server. Version 2 admits clients
// by a token, version 3 reports silences and counts in phases.
const version = 3

// events tells of a run: programs in JSON lines, of which every one is one write, so
// that it is seen at the moment it tells of, and people in words (people.go).
type events struct {
	w         io.Writer
	questions io.Reader // lines that meter.go answers; nil is none
	order     bool      // an agent was told to: servers are open, and addresses literal
	people    *people   // nil prints JSON
}

func (e events) begin() error {
	if e.people != nil {
		e.people.begin()
		return nil
	}
	return e.write(event.MarkBegin + "\n")
}

func (e events) end() error {
	if e.people != nil {
		e.people.end()
		return nil
	}
	return e.write(event.MarkEnd + "\n")
}

func (e events) print(v any) error {
	if e.people != nil {
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
