package record

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// A parser reads lines as Write makes them. Runs have 100,000 of them, which are equal
// except for their numbers: it reads them ten times as fast as encoding/json, and keeps
// one copy of each string and map. A line that Write would not make, such as one with
// spaces or escapes, is left to encoding/json, so that there is one meaning of a line.
type parser struct {
	b       []byte // what is left of the line
	strings map[string]string
	maps    map[string]map[string]string // by their JSON
	values  []Value                      // of the line at hand
}

// maxKept bounds the strings and maps that are kept to be shared.
const maxKept = 1 << 14

// result returns false for a line that it leaves to encoding/json.
func (p *parser) result(line []byte) (*Result, bool) {
	if p.strings == nil {
		p.strings, p.maps = map[string]string{}, map[string]map[string]string{}
	}
	p.b = bytes.TrimSuffix(line, []byte("\n"))
	r := new(Result)
	seen := 0
	ok := p.object(func(key []byte) bool {
		bit := 0
		ok := false
		switch string(key) {
		case "format":
			bit, ok = 1, p.integer(&r.Format)
		case "trial":
			bit, ok = 2, p.text(&r.Trial, false)
		case "block":
			bit, ok = 4, p.integer(&r.Block)
		case "status":
			bit, ok = 8, p.text((*string)(&r.Status), true)
		case "reason":
			bit, ok = 16, p.text(&r.Reason, true)
		case "start":
			s, quoted := p.quoted()
			bit, ok = 32, quoted && r.Start.UnmarshalText(s) == nil
		case "elapsed":
			bit, ok = 64, p.number(&r.Elapsed)
		case "asked":
			bit, ok = 128, p.levels(&r.Config)
		case "found":
			bit, ok = 256, p.levels(&r.Observed)
		case "values":
			p.values = p.values[:0]
			bit, ok = 512, p.array(func() bool {
				p.values = append(p.values, Value{})
				return p.value(&p.values[len(p.values)-1])
			})
			r.Values = append(make([]Value, 0, len(p.values)), p.values...)
		case "warnings":
			r.Warnings = []string{}
			bit, ok = 1024, p.array(func() bool {
				r.Warnings = append(r.Warnings, "")
				return p.text(&r.Warnings[len(r.Warnings)-1], true)
			})
		}
		ok = ok && seen&bit == 0 // encoding/json merges maps that are there twice
		seen |= bit
		return ok
	})
	return r, ok && len(p.b) == 0 && r.Format == Format
}

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

func (p *parser) array(element func() bool) bool { return p.list('[', ']', element) }

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

// digits returns the bytes of a number in the grammar of JSON (RFC 8259, section 6).
func (p *parser) digits() []byte {
	i := 0
	at := func(set string) bool { return i < len(p.b) && bytes.IndexByte([]byte(set), p.b[i]) >= 0 }
	some := func() bool {
		from := i
		for i < len(p.b) && '0' <= p.b[i] && p.b[i] <= '9' {
			i++
		}
		return i > from
	}
	if at("-") {
		i++
	}
	if at("0") {
		i++
	} else if !some() {
		return nil
	}
	if at(".") {
		if i++; !some() {
			return nil
		}
	}
	if at("eE") {
		if i++; at("+-") {
			i++
		}
		if !some() {
			return nil
		}
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
