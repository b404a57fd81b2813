package figure

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

// logs begins a daemon's last words in a reason for which they are evidence.
const logs = "; last log lines of "

// grouped are the names of cells by the reason why something of them is missing, in the order of the reasons.
type grouped struct {
	names map[string][]string
	order []string
}

func (g *grouped) add(name, why string) {
	if g.names == nil {
		g.names = map[string][]string{}
	}
	if g.names[why] == nil {
		g.order = append(g.order, why)
	}
	if !slices.Contains(g.names[why], name) {
		g.names[why] = append(g.names[why], name)
	}
}

func (g *grouped) items() (items []string) {
	for _, why := range g.order {
		reason, _, _ := strings.Cut(why, logs)
		items = append(items, strings.Join(g.names[why], "; ")+": "+reason)
	}
	return items
}

// gaps lists what the figure needs and the run lacks.
func (r *Result) gaps(all []map[string]string) {
	var g grouped
	for _, k := range []string{analysis.Network, analysis.Probe} {
		for _, l := range r.levels(k) {
			of := func(levels map[string]string) bool { return levels[k] == l }
			if !slices.ContainsFunc(all, of) {
				g.add(l, "the run does not have it")
			}
		}
	}
	for _, p := range r.Points {
		if p.Missing != "" {
			g.add(cmp.Or(p.Levels[analysis.Network], r.Name(p.Levels)), p.Missing)
		}
	}
	r.Missing = append(r.Missing, g.items()...)
}

// Unbounded names the cells whose drawn value has no interval, or one without an upper end, and says why.
func (r Result) Unbounded(look Look) (out []lang.Text) {
	if look.SD {
		return nil
	}
	var g grouped
	drawn := 0
	for _, p := range r.Points {
		i := p.Ratio
		if look.Absolute || len(r.To) == 0 {
			i = p.Value
		}
		if i.N == 0 {
			continue
		}
		drawn++
		if n := len(i.Warnings); n > 0 && (!i.Bounded() || i.Open()) {
			g.add(r.Name(p.Levels), string(i.Warnings[n-1]))
		}
	}
	for _, why := range g.order {
		names := lang.Text(strings.Join(g.names[why], "; "))
		if len(g.names[why]) == drawn {
			names = lang.T("all values")
		}
		out = append(out, lang.T("No whole interval: %s: %s", names, lang.Text(why)))
	}
	return out
}
