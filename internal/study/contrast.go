package study

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/strictyaml"
)

// A Contrast states a comparison: cells divided by others that differ from them only in the factors
// of To, in the same blocks. Networks and probes are factors here, named network and probe.
//
//	compare:
//	  - {to: {load: idle}}                      # every other load ÷ idle
//	  - of: {size: 1473}                        # one level ÷ another
//	    to: {size: 1472}
//	    in: {network: [host, ipip]}             # on these networks only
//	    text: a datagram one byte above the MTU
//	  - of: {offload: "on"}
//	    to: {offload: "off"}
//	    per: {network: host}                    # on ÷ off, divided by on ÷ off on host
//	  - {to: {network: host}, value: rtt.path}  # a value other than the probe's first
//
// A study without contrasts compares its networks with its baseline.
type Contrast struct {
	Of    Levels            // levels of the factors of To; empty means all others
	To    map[string]string // the level that divides, by factor
	In    Levels            // restricts the cells, by factor; a factor without an entry is free
	Per   map[string]string // the level of further factors whose ratio divides this ratio, if any
	Value string            // name of the value; "" is the probe's first
	Text  string            // subject of the answer's sentence; "" means the levels

	file  string
	lines map[string]int // of the keys, of the factors below them ("to.load"), and "" of the whole
}

// Levels holds levels by factor. In YAML, one level needs no list.
type Levels map[string][]string

// Baseline returns the network that c compares all other networks with, "" if c is anything else.
// Such a contrast is the baseline of a study.
func (c Contrast) Baseline() string {
	if len(c.To) != 1 || len(c.Of)+len(c.In)+len(c.Per) > 0 || c.Value != "" {
		return ""
	}
	return c.To["network"]
}

// Pos returns "file:line" of c, or "" if it is not from a file.
func (c Contrast) Pos() string {
	if c.lines[""] == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", c.file, c.lines[""])
}

// String returns c in the form of a study file, on one line.
func (c Contrast) String() string {
	n := &strictyaml.Node{Kind: strictyaml.Mapping}
	levels := func(key string, of Levels) {
		m := &strictyaml.Node{Kind: strictyaml.Mapping}
		for _, factor := range slices.Sorted(maps.Keys(of)) {
			if l := of[factor]; len(l) == 1 {
				m.Add(factor, strictyaml.NewText(l[0]))
			} else {
				m.Add(factor, strictyaml.NewList(l))
			}
		}
		if m.Keys != nil {
			n.Add(key, m)
		}
	}
	levels("of", c.Of)
	levels("to", single(c.To))
	levels("in", c.In)
	levels("per", single(c.Per))
	n.Add("value", strictyaml.NewText(c.Value))
	n.Add("text", strictyaml.NewText(c.Text))
	return n.Flow()
}

// single returns one level per factor as Levels.
func single(m map[string]string) Levels {
	l := Levels{}
	for factor, level := range m {
		l[factor] = []string{level}
	}
	return l
}

func (c *Contrast) DecodeNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	type fields Contrast // without this method
	if n.Kind != strictyaml.Mapping {
		d.Fail(n.Line, "want a comparison, as in {to: {load: idle}}, not %s", n.Kind)
		return
	}
	d.Decode(n, reflect.ValueOf((*fields)(c)).Elem(), "a comparison")
	c.file, c.lines = d.File, map[string]int{"": n.Line}
	for _, e := range n.Keys {
		c.lines[e.Key] = e.Line
		for _, factor := range e.Value.Keys {
			c.lines[e.Key+"."+factor.Key] = factor.Line
		}
	}
}

func (l *Levels) DecodeNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if !d.Want(n, strictyaml.Mapping, "levels by factor") {
		return
	}
	*l = Levels{}
	for _, e := range n.Keys {
		levels := make([]string, 1)
		if e.Value.Kind == strictyaml.List {
			d.Decode(e.Value, reflect.ValueOf(&levels).Elem(), e.Key)
		} else {
			d.Decode(e.Value, reflect.ValueOf(&levels[0]).Elem(), e.Key)
		}
		(*l)[e.Key] = levels
	}
}

// ParseContrast reads one contrast from a command line: "load=idle" divides all other loads by idle,
// "offload=on/off" one level by another, and a mapping is as in a study file. s has the levels.
func (s Study) ParseContrast(src string) (c Contrast, err error) {
	const want = "want FACTOR=LEVEL, FACTOR=LEVEL/LEVEL, or a mapping as in a study"
	if strings.HasPrefix(strings.TrimSpace(src), "{") {
		n, bad := strictyaml.Parse([]byte(src))
		if bad != nil {
			return c, fmt.Errorf("%q: %w", src, bad.Err)
		}
		var d strictyaml.Decoder
		if c.DecodeNode(&d, n); len(d.Errs) > 0 {
			return c, fmt.Errorf("%q: %w", src, d.Errs[0].Err)
		}
		c.lines = nil
		return c.canonical(), nil
	}
	factor, level, ok := strings.Cut(src, "=")
	if !ok || factor == "" || level == "" {
		return c, fmt.Errorf("invalid comparison %q: %s", src, want)
	}
	// A rate such as 1gbit/s has the slash in its name.
	if of, to, ok := strings.Cut(level, "/"); ok && !slices.Contains(s.varies()[factor], level) {
		if of == "" || to == "" {
			return c, fmt.Errorf("invalid comparison %q: %s", src, want)
		}
		c.Of, level = Levels{factor: strings.Split(of, ",")}, to
	}
	c.To = map[string]string{factor: level}
	return c.canonical(), nil
}

// canonical writes levels as Resolve writes those of factors.
func (c Contrast) canonical() Contrast {
	one := func(levels map[string]string) map[string]string {
		levels = maps.Clone(levels)
		for f, l := range levels {
			levels[f] = canonicalLevel(l)
		}
		return levels
	}
	all := func(levels Levels) Levels {
		levels = maps.Clone(levels)
		for f, ls := range levels {
			levels[f] = canonicalLevels(ls)
		}
		return levels
	}
	c.Of, c.To, c.In, c.Per = all(c.Of), one(c.To), all(c.In), one(c.Per)
	return c
}

// Against makes baseline the network of the contrast that compares networks, if s has one. It adds one
// if add is set and s has contrasts.
func (s Study) Against(baseline string, add bool) Study {
	s.Compare = slices.Clone(s.Compare)
	for i := range s.Compare {
		if c := &s.Compare[i]; c.Baseline() != "" {
			c.To = map[string]string{"network": baseline}
			return s
		}
	}
	if add && len(s.Compare) > 0 {
		s.Compare = append(s.Compare, Contrast{To: map[string]string{"network": baseline}})
	}
	return s
}

// CompareLevels adds comparisons of the levels of factors with the first one: whoever varies a factor asks what it
// changes. They come first; a factor that is compared already stays as it is. Networks are compared as before.
func (s *Study) CompareLevels(factors []string) {
	var more []Contrast
	for _, factor := range factors {
		levels := s.Factors[factor]
		if len(levels) < 2 || slices.ContainsFunc(s.Compare, func(c Contrast) bool { return c.To[factor] != "" }) {
			continue
		}
		c := Contrast{To: map[string]string{factor: levels[0]}}
		if len(levels) == 2 { // which names it: mtu 9000 ÷ 1500
			c.Of = Levels{factor: levels[1:]}
		}
		if len(s.checkContrast("", c)) == 0 {
			more = append(more, c)
		}
	}
	if more != nil && len(s.Compare) == 0 && len(s.Networks) > 1 {
		more = append(more, Contrast{To: map[string]string{"network": s.Baseline}})
	}
	s.Compare = append(more, s.Compare...)
}

// varies returns the levels of all factors, networks and probes among them.
func (s Study) varies() map[string][]string {
	all := map[string][]string{"network": Names(s.Networks), "probe": Names(s.Probes)}
	maps.Copy(all, s.Factors)
	return all
}

// FitCompare removes from the contrasts the levels that s lacks. It drops those that then compare
// nothing, and returns the reason for each.
func (s *Study) FitCompare() (dropped []error) {
	varies := s.varies()
	fit := func(l Levels) Levels {
		l = maps.Clone(l)
		for factor, levels := range l {
			l[factor] = slices.DeleteFunc(slices.Clone(levels), func(x string) bool { return !slices.Contains(varies[factor], x) })
		}
		return l
	}
	var kept []Contrast
	for i, c := range s.Compare {
		where := fmt.Sprintf("compare[%d]", i)
		before := s.checkContrast(where, c)
		c.Of, c.In = fit(c.Of), fit(c.In)
		if len(s.checkContrast(where, c)) == 0 {
			kept = append(kept, c)
		} else {
			dropped = append(dropped, before[0].err)
		}
	}
	s.Compare = kept
	return dropped
}
