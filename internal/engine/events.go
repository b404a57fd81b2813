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

// version of the lines that this package prints and of what it puts on the wire.
const version = 1

// events writes JSON lines. Every line is one write, so that it is seen at the
// moment it tells of.
type events struct {
	w         io.Writer
	questions io.Reader // lines that tally.go answers; nil is none
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
	return head{Event: "result", Workload: workload, Engine: version, Server: server, Size: size, Window: seconds(window)}
}

func (e events) begin() error { return e.write(markBegin + "\n") }
func (e events) end() error   { return e.write(markEnd + "\n") }

func (e events) print(v any) error {
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
