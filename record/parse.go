package record

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A parser reads lines as Write makes them. A run can have 100,000 of them that differ
// in their numbers only: the parser is five times as fast as encoding/json and keeps one
// copy of every string and map. It leaves a line that Write would not make, such as one
// with spaces or escapes, to encoding/json, which alone decides what is valid.
type parser struct {
	b       []byte // what is left of the line
	strings map[string]string
	maps    map[string]map[string]string // by their JSON
	values  []Value                      // of the line at hand
}

// maxKept bounds the number of strings and of maps that results share.
const maxKept = 1 << 14

// result returns false for a line that it leaves to encoding/json.
func (p *parser) result(line []byte) (*Result, bool) {
	if p.strings == nil {
		p.strings, p.maps = map[string]string{}, map[string]map[string]string{}
	}
	p.b = bytes.TrimSuffix(line, []byte("\n"))
	r, last := new(Result), -1
	ok := p.object(func(key []byte) bool {
		i := slices.Index(lineKeys, string(key))
		if i <= last { // unknown, twice or in another order
			return false
		}
		last = i
		switch lineKeys[i] {
		case "format":
			return p.integer(&r.Format)
		case "trial":
			return p.text(&r.Trial, false)
		case "block":
			return p.integer(&r.Block)
		case "status":
			return p.text((*string)(&r.Status), true)
		case "reason":
			return p.text(&r.Reason, true)
		case "start":
			s, ok := p.quoted()
			return ok && r.Start.UnmarshalText(s) == nil
		case "elapsed":
			return p.number(&r.Elapsed)
		case "asked":
			return p.levels(&r.Config)
		case "found":
			return p.levels(&r.Observed)
		case "values":
			p.values = p.values[:0]
			ok := p.list('[', ']', func() bool {
				p.values = append(p.values, Value{})
				return p.value(&p.values[len(p.values)-1])
			})
			r.Values = append(make([]Value, 0, len(p.values)), p.values...)
			return ok
		default: // warnings
			r.Warnings = []string{}
			return p.list('[', ']', func() bool {
				r.Warnings = append(r.Warnings, "")
				return p.text(&r.Warnings[len(r.Warnings)-1], true)
			})
		}
	})
	return r, ok && len(p.b) == 0 && r.Format == Format
}

// lineKeys are the keys of a line, in the order in which Write writes them.
var lineKeys = []string{"format", "trial", "block", "status", "reason", "start", "elapsed", "asked", "found", "values", "warnings"}

func (p *parser) value(v *Value) bool {
	return p.object(func(key []byte) bool {
		switch string(key) {
		case "name":
			return p.text(&v.Name, true)
		case "unit":
			return p.text(&v.Unit, true)
		case "value":
			return p.number(&v.Value)
		case "hist":
			return p.text(&v.Hist, false)
		}
		return false
	})
}

// levels reads a map of strings, which results of one cell share.
func (p *parser) levels(m *map[string]string) bool {
	whole := p.b
	end := bytes.IndexByte(whole, '}')
	if end < 0 {
		return false
	}
	if known := p.maps[string(whole[:end+1])]; known != nil {
		*m, p.b = known, whole[end+1:]
		return true
	}
	*m = map[string]string{}
	ok := p.object(func(key []byte) bool {
		name, level := p.shared(key), ""
		if !p.text(&level, true) {
			return false
		}
		(*m)[name] = level
		return true
	})
	if raw := whole[:len(whole)-len(p.b)]; ok && len(raw) == end+1 && len(p.maps) < maxKept {
		p.maps[string(raw)] = *m
	}
	return ok
}

func (p *parser) next(c byte) bool {
	if len(p.b) == 0 || p.b[0] != c {
		return false
	}
	p.b = p.b[1:]
	return true
}

func (p *parser) object(member func(key []byte) bool) bool {
	return p.list('{', '}', func() bool {
		key, ok := p.quoted()
		return ok && p.next(':') && member(key)
	})
}

func (p *parser) list(open, end byte, element func() bool) bool {
	if !p.next(open) {
		return false
	}
	if p.next(end) {
		return true
	}
	for element() {
		if p.next(end) {
			return true
		}
		if !p.next(',') {
			return false
		}
	}
	return false
}

// quoted returns the bytes of a string that has no escapes.
func (p *parser) quoted() ([]byte, bool) {
	if !p.next('"') {
		return nil, false
	}
	end := bytes.IndexByte(p.b, '"')
	if end < 0 {
		return nil, false
	}
	s := p.b[:end]
	plain := true
	for _, c := range s {
		if c < ' ' || c == '\\' {
			return nil, false
		}
		plain = plain && c < utf8.RuneSelf
	}
	p.b = p.b[end+1:]
	return s, plain || utf8.Valid(s)
}

func (p *parser) text(s *string, share bool) bool {
	b, ok := p.quoted()
	if share {
		*s = p.shared(b)
	} else {
		*s = string(b)
	}
	return ok
}

func (p *parser) shared(b []byte) string {
	if s, ok := p.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(p.strings) < maxKept {
		p.strings[s] = s
	}
	return s
}

// digits returns the bytes of a number, nil when JSON has no such number.
func (p *parser) digits() []byte {
	i := bytes.IndexAny(p.b, ",]}")
	if i < 0 || !json.Valid(p.b[:i]) {
		return nil
	}
	s := p.b[:i]
	p.b = p.b[i:]
	return s
}

func (p *parser) number(v *float64) bool {
	x, err := strconv.ParseFloat(string(p.digits()), 64)
	*v = x
	return err == nil
}

func (p *parser) integer(v *int) bool {
	x, err := strconv.Atoi(string(p.digits()))
	*v = x
	return err == nil
}
