package record

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// A parser reads lines exactly as Write makes them and leaves others to encoding/json. Results
// share strings and maps, because trials differ only in numbers. 100,000 trials of 230 MB take 1.8
// s of CPU and 200 MiB; 4.2 s and 400 MiB with encoding/json alone.
type parser struct {
	b       []byte // the rest of the line
	strings map[string]string
	maps    map[string]map[string]string // by their JSON
	values  []Value                      // of the current line
}

// maxKept bounds the number of shared strings and of shared maps.
const maxKept = 1 << 14

// result returns false if encoding/json must read the line.
func (p *parser) result(line []byte) (*Result, bool) {
	if p.strings == nil {
		p.strings, p.maps = map[string]string{}, map[string]map[string]string{}
	}
	p.b = line
	r := &Result{Format: Format}
	ok := p.next(`{"format":1,"trial":`) && p.text(&r.Trial) &&
		p.next(`,"block":`) && p.integer(&r.Block) &&
		p.next(`,"status":`) && p.shared((*string)(&r.Status)) &&
		(!p.next(`,"reason":`) || p.shared(&r.Reason)) &&
		p.next(`,"start":`) && r.Start.UnmarshalJSON(p.quoted()) == nil &&
		p.next(`,"elapsed":`) && p.number(&r.Elapsed) &&
		p.next(`,"asked":`) && p.levels(&r.Config) &&
		(!p.next(`,"found":`) || p.levels(&r.Observed)) &&
		(!p.next(`,"values":[`) || p.list(&r.Values)) &&
		(!p.next(`,"warnings":`) || json.Unmarshal(p.until(']'), &r.Warnings) == nil) &&
		p.next("}\n")
	return r, ok && len(p.b) == 0
}

// list reads values after their opening bracket.
func (p *parser) list(values *[]Value) bool {
	p.values = p.values[:0]
	for more := true; more; more = p.next(",") {
		var v Value
		if !p.value(&v) {
			return false
		}
		p.values = append(p.values, v)
	}
	*values = slices.Clone(p.values)
	return p.next("]")
}

func (p *parser) value(v *Value) bool {
	return p.next(`{"name":`) && p.shared(&v.Name) &&
		p.next(`,"unit":`) && p.shared(&v.Unit) &&
		p.next(`,"value":`) && p.number(&v.Value) &&
		(!p.next(`,"hist":`) || p.text(&v.Hist)) && p.next("}")
}

func (p *parser) levels(m *map[string]string) bool {
	b := p.until('}')
	known, ok := p.maps[string(b)]
	if *m = known; ok {
		return true
	}
	ok = json.Unmarshal(b, m) == nil
	if ok && len(p.maps) < maxKept {
		p.maps[string(b)] = *m
	}
	return ok
}

// shared reads a string and shares one copy between results.
func (p *parser) shared(s *string) bool {
	b := p.quoted()
	known, ok := p.strings[string(b)]
	if *s = known; ok {
		return true
	}
	ok = json.Unmarshal(b, s) == nil
	if ok && len(p.strings) < maxKept {
		p.strings[string(b)] = *s
	}
	return ok
}

func (p *parser) text(s *string) bool { return json.Unmarshal(p.quoted(), s) == nil }

func (p *parser) integer(v *int) bool { return json.Unmarshal(p.digits(), v) == nil }

func (p *parser) number(v *float64) (ok bool) {
	b := p.digits()
	x, err := strconv.ParseFloat(string(b), 64)
	*v = x
	return err == nil && json.Valid(b) // Go accepts numbers that JSON does not
}

// next skips s if the line continues with it.
func (p *parser) next(s string) bool {
	rest, ok := bytes.CutPrefix(p.b, []byte(s))
	p.b = rest
	return ok
}

func (p *parser) take(n int) (b []byte) {
	b, p.b = p.b[:n], p.b[n:]
	return b
}

// until returns the line up to end. If end is missing or inside a string, that is not JSON.
func (p *parser) until(end byte) []byte { return p.take(bytes.IndexByte(p.b, end) + 1) }

// quoted returns a string with its quotes, which is not JSON if it contains a quote.
func (p *parser) quoted() []byte {
	if !bytes.HasPrefix(p.b, []byte(`"`)) {
		return nil
	}
	return p.take(bytes.IndexByte(p.b[1:], '"') + 2)
}

func (p *parser) digits() []byte { return p.take(max(0, bytes.IndexAny(p.b, ",]}"))) }
