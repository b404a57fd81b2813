package probe

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/bounds"
)

// A find is what a file holds: documents of iperf3's JSON, and texts of any tools.
type find struct {
	documents []json.RawMessage
	texts     [][]byte
	strange   bool // JSON that holds neither

	seen   map[[sha256.Size]byte]bool // digests of both: a collector's JSON can hold one output as it was and by lines
	events map[string]json.RawMessage // of the document that --json-stream is printing
	parts  []json.RawMessage          // its intervals
	lines  map[string]*bytes.Buffer   // of logs that wrap each line in JSON, by the key that has it
}

var (
	// A value of JSON begins a line, or is iperf3's document or event after some words.
	jsonRE = regexp.MustCompile(`(?m)^[ \t]*[\[{][ \t]*(?:["{\[]|$)|\{\s*"(?:start|error|event)"\s*:`)
	// Old versions print what C's printf makes of a rate over 0 s.
	jsonNaNRE = regexp.MustCompile(`(:\s*)-?(?:nan|inf)\b`)

	iperf3KeysRE = regexp.MustCompile(`"(?:test_start|connecting_to|tcp_mss_default|sum_received|sum_sent)"`)
)

// lineKeys are those under which docker's json-file, journald's JSON and structured logs keep a line.
var lineKeys = []string{"log", "MESSAGE", "message", "msg", "line"}

const (
	maxFailures = 20 // values that look like JSON and are not
	maxNested   = 3  // texts within JSON within texts
)

// search finds the outputs in a text, which may be all of it.
func search(b []byte) (*find, error) {
	f := &find{seen: map[[sha256.Size]byte]bool{}, lines: map[string]*bytes.Buffer{}}
	return f, f.text(bytes.ToValidUTF8(b, []byte("\uFFFD")), 0)
}

// text finds what is in one text: values of JSON, and the text around them.
func (f *find) text(b []byte, depth int) error {
	if depth > maxNested || f.again(b) {
		return nil
	}
	for _, part := range unprefixed(b) {
		rest, err := f.values(part, depth)
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(rest)) > 0 {
			f.texts = append(f.texts, rest)
		}
	}
	return nil
}

// again reports whether an output was found before.
func (f *find) again(b []byte) bool {
	digest := sha256.Sum256(b)
	before := f.seen[digest]
	f.seen[digest] = true
	return before
}

// values finds the values of JSON in a text and returns what is around them.
func (f *find) values(b []byte, depth int) (around []byte, _ error) {
	if bytes.Contains(b, []byte("nan")) || bytes.Contains(b, []byte("inf")) {
		if fixed := jsonNaNRE.ReplaceAll(b, []byte("${1}null")); jsonRE.Match(b) {
			b = fixed
		}
	}
	if text := bytes.TrimSpace(b); len(text) > 0 && (text[0] == '{' || text[0] == '[' && jsonRE.Match(text)) {
		if err := bounds.Values(text, maxIperf3Values); err != nil {
			return nil, err
		}
	}
	failures := 0
	for at, rest := 0, 0; ; {
		m := jsonRE.FindIndex(b[at:])
		if m == nil || failures > maxFailures {
			around = append(around, b[rest:]...)
			break
		}
		from := at + m[0] + bytes.IndexAny(b[at+m[0]:], "[{")
		var raw json.RawMessage
		dec := json.NewDecoder(bytes.NewReader(b[from:]))
		if err := dec.Decode(&raw); err != nil {
			if near := b[from:min(from+4096, len(b))]; errors.Is(err, io.ErrUnexpectedEOF) && (iperf3KeysRE.Match(near) || len(bytes.TrimSpace(b[:from])) == 0) {
				return nil, fmt.Errorf("not JSON, or cut off: %w", err)
			}
			failures++
			at = from + 1
			continue
		}
		around = append(append(around, b[rest:from]...), '\n')
		at = from + int(dec.InputOffset())
		rest = at
		if err := f.value(raw, depth); err != nil {
			return nil, err
		}
	}
	if f.events != nil {
		return nil, errors.New("cut off: the event \"end\" is missing")
	}
	for _, key := range lineKeys {
		if lines := f.lines[key]; lines != nil {
			delete(f.lines, key)
			if err := f.text(lines.Bytes(), depth+1); err != nil {
				return nil, err
			}
		}
	}
	return around, nil
}

// value sorts a value: an event, a document, a line of a log, or one that holds such.
func (f *find) value(raw json.RawMessage, depth int) error {
	if err := bounds.Values(raw, maxIperf3Values); err != nil {
		return err
	}
	var e iperf3Event
	var object map[string]json.RawMessage
	if raw[0] == '{' && json.Unmarshal(raw, &e) == nil && e.Event != "" && e.Data != nil {
		return f.event(e)
	}
	if raw[0] == '{' && json.Unmarshal(raw, &object) == nil {
		if isIperf3(object) {
			f.document(raw)
			return nil
		}
		for _, key := range lineKeys {
			var line string
			if flat(object) && json.Unmarshal(object[key], &line) == nil && line != "" {
				if f.lines[key] == nil {
					f.lines[key] = &bytes.Buffer{}
				}
				f.lines[key].WriteString(strings.TrimSuffix(line, "\n") + "\n")
				return nil
			}
		}
	}
	before := len(f.documents) + len(f.texts)
	err := f.within(raw, depth)
	f.strange = f.strange || err == nil && len(f.documents)+len(f.texts) == before
	return err
}

// within finds documents and texts in a value that is neither.
func (f *find) within(raw json.RawMessage, depth int) error {
	var list []json.RawMessage
	var lines []string
	var text string
	object := map[string]json.RawMessage{}
	switch raw[0] {
	case '"':
		if json.Unmarshal(raw, &text) == nil && (strings.Contains(text, "\n") || jsonRE.MatchString(text)) {
			return f.text([]byte(text), depth+1)
		}
	case '[':
		if json.Unmarshal(raw, &lines) == nil && len(lines) > 1 {
			return f.text([]byte(strings.Join(lines, "\n")+"\n"), depth+1)
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		for _, v := range list {
			if err := f.within(v, depth); err != nil {
				return err
			}
		}
	case '{':
		if err := json.Unmarshal(raw, &object); err != nil {
			return err
		}
		if isIperf3(object) {
			f.document(raw)
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if err := f.within(object[key], depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// flat reports whether an object holds no other one, as the lines of logs do.
func flat(object map[string]json.RawMessage) bool {
	for _, v := range object {
		if v[0] == '{' || v[0] == '[' {
			return false
		}
	}
	return true
}

// isIperf3 reports whether an object is a document of iperf3: a test, or why there was none.
func isIperf3(object map[string]json.RawMessage) bool {
	_, start := object["start"]
	_, end := object["end"]
	_, intervals := object["intervals"]
	_, failed := object["error"]
	return start && (end || intervals || failed) || failed && len(object) == 1
}

func (f *find) document(raw json.RawMessage) {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) == nil && !f.again(compact.Bytes()) {
		f.documents = append(f.documents, raw)
	}
}

// event adds a part of the document that --json-stream prints as events.
func (f *find) event(e iperf3Event) error {
	if f.events == nil {
		f.events, f.parts = map[string]json.RawMessage{}, nil
	}
	switch e.Event {
	case "interval":
		f.parts = append(f.parts, e.Data)
		return nil
	case "server_output_text", "server_output_json":
		return nil
	}
	f.events[e.Event] = e.Data
	if e.Event != "end" && e.Event != "error" {
		return nil
	}
	if f.parts != nil {
		all, err := json.Marshal(f.parts)
		if err != nil {
			return err
		}
		f.events["intervals"] = all
	}
	raw, err := json.Marshal(f.events)
	f.events = nil
	f.document(raw)
	return err
}
