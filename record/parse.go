package record

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// A parser reads lines exactly as Write makes them and leaves others to encoding/json. Results
// share strings and maps, because trials differ only in numbers. 100,000 trials of 230 MB take 1.8
// s of CPU and 200 MiB; 4.2 s and 400 MiB with encoding/json alone.
type parser struct {
	b       []byte // the rest of the line
	strings map[string]string
	asked   map[string]map[string]string // by their JSON
	found   map[string]Observed          // by their JSON
	keys    map[string]Value             // whose Name and About those of format 1 get, by name and hosts
	abouts  map[About]*About
	about   About   // of the current value
	values  []Value // of the current line
}

// maxKept bounds the number of shared strings and of shared maps.
const maxKept = 1 << 14

// result returns false if encoding/json must read the line.
func (p *parser) result(line []byte) (*Result, bool) {
	if p.strings == nil {
		p.strings, p.asked, p.found = map[string]string{}, map[string]map[string]string{}, map[string]Observed{}
		p.keys, p.abouts = map[string]Value{}, map[About]*About{}
		for _, d := range definitions { // these are in the program: a garbage collector has nothing to follow
			p.strings[`"`+string(d.ID)+`"`], p.strings[`"`+d.Unit+`"`] = string(d.ID), d.Unit
		}
	}
	p.b = line
	r := &Result{Format: Format}
	old := bytes.HasPrefix(line, []byte(`{"format":1,`))
	observed := func(s Observed) Observed { return s }
	if old {
		observed = observedV1
	}
	ok := (p.next(`{"format":2,`) || p.next(`{"format":1,`)) && p.next(`"trial":`) && p.text(&r.Trial) &&
		p.next(`,"block":`) && p.integer(&r.Block) &&
		p.next(`,"status":`) && p.shared((*string)(&r.Status)) &&
		(!p.next(`,"reason":`) || p.shared(&r.Reason)) &&
		p.next(`,"start":`) && r.Start.UnmarshalJSON(p.quoted()) == nil &&
		p.next(`,"elapsed":`) && p.number(&r.Elapsed) &&
		p.next(`,"asked":`) && levels(p, p.asked, &r.Config, same) &&
		(!p.next(`,"found":`) || levels(p, p.found, &r.Observed, observed)) &&
		(!p.next(`,"values":[`) || p.list(&r.Values)) &&
		(!p.next(`,"notes":`) || !old && json.Unmarshal(p.rest(), &r.Notes) == nil) &&
		p.next("}\n")
	if old {
		p.rename(r.Values)
	}
	return r, ok && len(p.b) == 0
}

func same(m map[string]string) map[string]string { return m }

// rename gives values of format 1 their keys of today.
func (p *parser) rename(values []Value) {
	hosts := hostsV1(values)
	at := strings.Join(hosts, " ")
	for i := range values {
		v := &values[i]
		known := string(v.Name) + " " + at
		k, ok := p.keys[known]
		if !ok {
			if k = keyV1(string(v.Name), hosts).Value("", 0); len(p.keys) < maxKept {
				p.keys[known] = k
			}
		}
		v.Name, v.About = k.Name, k.About
	}
}

// list reads values after their opening bracket.
func (p *parser) list(values *[]Value) bool {
	p.values = p.values[:0]
	for more := true; more; more = p.next(",") {
		p.values = append(p.values, Value{})
		if !p.value(&p.values[len(p.values)-1]) {
			return false
		}
	}
	*values = slices.Clone(p.values)
	return p.next("]")
}

func (p *parser) value(v *Value) bool {
	return p.next(`{"name":`) && p.shared((*string)(&v.Name)) &&
		(p.next(`,"unit":`) || p.labels(&v.About) && p.next(`,"unit":`)) && p.shared(&v.Unit) &&
		p.next(`,"value":`) && p.number(&v.Value) &&
		(!p.next(`,"hist":`) || p.text(&v.Hist)) && p.next("}")
}

// labels reads what a value is about, and shares one copy between values.
func (p *parser) labels(to **About) bool {
	p.about = About{}
	ok := (!p.next(`,"host":`) || p.shared(&p.about.Host)) &&
		(!p.next(`,"place":`) || p.shared(&p.about.Place)) &&
		(!p.next(`,"end":`) || p.shared(&p.about.End)) &&
		(!p.next(`,"program":`) || p.shared(&p.about.Program)) &&
		(!p.next(`,"thread":`) || p.shared(&p.about.Thread)) &&
		(!p.next(`,"goal":`) || p.shared(&p.about.Goal))
	if *to = p.abouts[p.about]; *to == nil {
		one := p.about
		if *to = &one; len(p.abouts) < maxKept {
			p.abouts[one] = &one
		}
	}
	return ok
}

// levels reads a map, gives it the form of today, and shares one copy between results.
func levels[M ~map[string]string](p *parser, all map[string]M, m *M, current func(M) M) bool {
	b := p.until('}')
	known, ok := all[string(b)]
	if *m = known; ok {
		return true
	}
	var read M
	if ok = json.Unmarshal(b, &read) == nil; ok {
		*m = current(read)
	}
	if ok && len(all) < maxKept {
		all[string(b)] = *m
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

// text reads a string of its own: without json's machinery if it has only printable ASCII, which includes histograms.
func (p *parser) text(s *string) bool {
	b := p.quoted()
	for _, c := range b { // not bytes.ContainsFunc, which decodes runes: a twentieth of a report's time
		if c < ' ' || c > '~' || c == '\\' {
			return json.Unmarshal(b, s) == nil
		}
	}
	if len(b) < len(`""`) {
		return false
	}
	*s = string(b[1 : len(b)-1])
	return true
}

func (p *parser) integer(v *int) bool { return json.Unmarshal(p.digits(), v) == nil }

func (p *parser) number(v *float64) (ok bool) {
	b := p.digits()
	x, err := strconv.ParseFloat(string(b), 64)
	*v = x
	return err == nil && (plain(b) || json.Valid(b)) // Go accepts numbers that JSON does not
}

// plain reports whether a number that Go accepts is digits, perhaps with a point among them, as JSON has it.
func plain(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("-"))
	whole, _, _ := bytes.Cut(b, []byte("."))
	for _, c := range b {
		if c != '.' && (c < '0' || c > '9') {
			return false
		}
	}
	return len(whole) > 0 && (whole[0] != '0' || len(whole) == 1) && b[len(b)-1] != '.'
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

// rest returns the line without the bracket that closes it, and leaves that.
func (p *parser) rest() []byte { return p.take(max(0, len(p.b)-len("}\n"))) }

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
