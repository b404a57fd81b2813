package engine

import (
	"encoding/json"
	"fmt"
	"io"
)

// The lines that bound the measured window, the same as probe.MarkBegin and
// probe.MarkEnd; a test compares them.
const (
	markBegin = `{"event":"begin"}`
	markEnd   = `{"event":"end"}`
)

const (
	// version of what this package puts on the wire. Version 2 admits clients by a
	// token, version 3 tells of silences and counts in phases.
	version = 3
	// lineVersion is that of the lines that it prints for programs.
	lineVersion = 1
)

// events tells of a run: programs in JSON lines, of which every one is one write, so
// that it is seen at the moment it tells of, and people in words (people.go).
type events struct {
	w         io.Writer
	questions io.Reader // lines that meter.go answers; nil is none
	order     bool      // an agent was told to: servers are open, and addresses literal
	people    *people   // nil prints JSON
}

type errorEvent struct {
	Event string `json:"event"`
	Error string `json:"error"`
}

// A head is what every result begins with.
type head struct {
	Event    string  `json:"event"` // "result"
	Workload string  `json:"workload"`
	Engine   int     `json:"engine"` // version
	Server   string  `json:"server"`
	Size     int     `json:"size"`   // bytes of payload per write, datagram or message; reach: of the IP packet
	Window   float64 `json:"window"` // s, the measured window
}

func newHead(workload, server string, size int, window int64) head {
	return head{Event: "result", Workload: workload, Engine: lineVersion, Server: server, Size: size, Window: seconds(window)}
}

func (e events) begin() error {
	if e.people != nil {
		e.people.begin()
		return nil
	}
	return e.write(markBegin + "\n")
}

func (e events) end() error {
	if e.people != nil {
		e.people.end()
		return nil
	}
	return e.write(markEnd + "\n")
}

func (e events) print(v any) error {
	if e.people != nil {
		return e.write(inWords(v))
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("engine: output: %w", err)
	}
	return e.write(string(b) + "\n")
}

func (e events) write(line string) error {
	if _, err := io.WriteString(e.w, line); err != nil {
		return fmt.Errorf("engine: output: %w", err)
	}
	return nil
}
