package section

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
)

// A comparison is what one sentence and one section are about: a contrast that the study states, or
// all contrasts that it gives the same text.
type comparison struct {
	text   string // "" if the study gives none
	first  int    // of its contrasts in the run
	of     []analysis.Contrast
	rows   []contrasted
	many   bool            // the run has several networks
	varies map[string]bool // factors whose level differs between rows
}

// A contrasted is a row and its contrast.
type contrasted struct {
	analysis.ContrastRow
	by *analysis.Contrast
}

func (s source) comparisons() []comparison {
	return comparisonsOf(s.p.Contrasts, len(s.p.Networks) > 1)
}

func comparisonsOf(stated []analysis.Contrasted, many bool) []comparison {
	var out []comparison
	for i := range stated {
		c := &stated[i]
		n := slices.IndexFunc(out, func(x comparison) bool { return c.Text != "" && x.text == c.Text && len(x.of[0].Per) == len(c.Per) })
		if n < 0 {
			n = len(out)
			out = append(out, comparison{text: c.Text, first: i, many: many})
		}
		out[n].of = append(out[n].of, c.Contrast)
		for _, r := range c.Rows {
			out[n].rows = append(out[n].rows, contrasted{r, &c.Contrast})
		}
	}
	for i := range out {
		out[i].vary()
	}
	return out
}

// Stated answers comparisons in sentences without their full stop. Those without an answer have none.
func Stated(w account.Words, stated []analysis.Contrasted, many bool) (out []string) {
	for _, c := range comparisonsOf(stated, many) {
		if !c.answered() {
			continue
		}
		for _, text := range clausesOf(w, c) {
			out = append(out, c.begin(text))
		}
	}
	return out
}

// vary finds the factors that tell rows apart.
func (c *comparison) vary() {
	c.varies = map[string]bool{}
	first := map[string]string{}
	see := func(kind, factor, level string) {
		if v, ok := first[kind+factor]; ok && v != level {
			c.varies[kind+factor] = true
		}
		first[kind+factor] = level
	}
	for _, r := range c.rows {
		for k, v := range r.Levels {
			see("", k, v)
		}
		for k, v := range r.Of {
			see("of ", k, v)
		}
		for k, v := range r.by.To {
			see("to ", k, v)
		}
	}
}

// where names a row by its network and by the levels that vary, except those of the compared factors.
func (c comparison) where(r contrasted) string {
	var parts []string
	if _, compared := r.by.To[analysis.Network]; c.many || compared {
		parts = append(parts, r.Network)
	}
	for _, k := range slices.Sorted(maps.Keys(r.Levels)) {
		if c.varies[k] {
			parts = append(parts, k+" "+r.Levels[k])
		}
	}
	return prose.List(parts)
}

// level names the compared levels of a row, where they vary.
func (c comparison) level(r contrasted) string {
	some := false
	for k := range r.by.To {
		some = some || c.varies["of "+k] && k != analysis.Network
	}
	if !some {
		return ""
	}
	return divided(r.Of, r.by.To, c.toVaries(), true)
}

func (c comparison) toVaries() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(c.varies)), func(k string) bool { return strings.HasPrefix(k, "to ") })
}

// name names a row completely.
func (c comparison) name(r contrasted) string {
	parts := slices.DeleteFunc([]string{c.where(r), c.level(r)}, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return r.Network
	}
	return prose.List(parts)
}

// divided formats levels, "1473" or "1473 ÷ 1472", with the names of the factors if there are several
// or unless bare.
func divided(of, to map[string]string, both, bare bool) string {
	text := func(m map[string]string) string {
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(m)) {
			switch {
			case k == analysis.Network && bare && len(m) > 1: // it names the row
			case k == analysis.Network || bare && len(to) == 1:
				parts = append(parts, m[k])
			default:
				parts = append(parts, k+" "+m[k])
			}
		}
		return prose.List(parts)
	}
	if !both {
		return text(of)
	}
	if len(to) == 1 && !bare { // name the factor once
		for k := range to {
			return strings.TrimSpace(text(of) + " ÷ " + to[k])
		}
	}
	return strings.TrimSpace(text(of) + " ÷ " + text(to))
}

// ratioText names what a contrast divides: "size 1473 ÷ 1472", "load ÷ idle", "÷ host".
func ratioText(c analysis.Contrast) string {
	of := map[string]string{}
	for k := range c.To {
		if len(c.Of[k]) == 1 {
			of[k] = c.Of[k][0]
		}
	}
	text := divided(of, c.To, true, false)
	if len(c.To) == 1 && len(of) == 0 {
		for k := range c.To {
			if k != analysis.Network {
				text = k + " " + text
			}
		}
	}
	if c.Value != "" {
		text = MetricName(c.Value) + ", " + text
	}
	for _, k := range slices.Sorted(maps.Keys(c.In)) {
		if len(c.In[k]) == 1 && k != analysis.Network && k != analysis.Probe { // rows have the names of these
			text = prose.Comma(text, k+" "+c.In[k][0])
		}
	}
	return text
}

// ratio names what the contrasts of a comparison divide; "" if they differ.
func (c comparison) ratio() string {
	text := ratioText(c.of[0])
	for _, x := range c.of[1:] {
		if ratioText(x) != text {
			return ""
		}
	}
	return text
}

// subject is what the comparison is about.
func (c comparison) subject() string {
	if c.text != "" {
		return word(c.text)
	}
	return c.ratio()
}

// relative names the cells whose ratio divides that of the others; "" if there are none.
func (c comparison) relative() string {
	return divided(c.of[0].Per, c.of[0].Per, false, false)
}

// byProbe groups rows by probe, or by the one that divides if probes are compared.
func (c comparison) byProbe() doc.Groups[string, contrasted] {
	var out doc.Groups[string, contrasted]
	for _, r := range c.rows {
		out.Add(cmp.Or(r.by.To[analysis.Probe], r.Probe), r)
	}
	return out
}

// title is the subject, with a capital unless it begins with the name of a factor.
func (c comparison) title() string {
	return prose.Comma(cmp.Or(prose.Capital(word(c.text)), c.ratio()), c.relativeText())
}

func (c comparison) relativeText() string {
	if r := c.relative(); r != "" {
		return say("relative to %s", r)
	}
	return ""
}
