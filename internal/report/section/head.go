package section

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
)

// head is what a reader must know before the numbers: where, with what, when, how much and how sure.
func (s source) head() []doc.Fact {
	out := Machines(s.Hosts)
	if w := Where(s.Account); w != "" {
		out = append(out, doc.Fact{Key: say("where"), Value: w})
	}
	return append(out, s.when()...)
}

// when says when the run was, how much it measured and how sure it is.
func (s source) when() (out []doc.Fact) {
	first, last := s.Times()
	if !first.IsZero() {
		out = append(out, doc.Fact{Key: say("when"), Value: first.UTC().Format("2006-01-02 15:04") + " UTC"}, doc.Fact{Key: say("took"), Value: took(last.Sub(first))})
	}
	measured := s.census()
	if !s.p.Unpaired {
		measured = say("1 run: %s", measured)
	}
	return append(out, doc.Fact{Key: say("measured"), Value: measured}, doc.Fact{Key: say("how sure"), Value: s.sure()})
}

// took prints a duration as people say it: "1 h 5 min", "1 min 24 s", "9 s".
func took(d time.Duration) string {
	d = d.Round(time.Second)
	h, m, sec := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case h > 0:
		return fmt.Sprintf("%d h %d min", h, m)
	case m > 0:
		return fmt.Sprintf("%d min %d s", m, sec)
	}
	return fmt.Sprintf("%d s", sec)
}

// sure says what the intervals promise, and what they leave out.
func (s source) sure() string {
	bounded := slices.ContainsFunc(s.p.Contrasts, func(c analysis.Contrasted) bool {
		return slices.ContainsFunc(c.Rows, func(r analysis.ContrastRow) bool { return r.Ratio.Bounded() })
	})
	beyond := false
	for _, r := range s.p.Rows() {
		bounded = bounded || r.Ratio.Bounded()
		beyond = beyond || r.OtherRuns != nil
	}
	text := ""
	switch {
	case s.p.Comparisons == 0:
		return say("nothing is compared; each median has an interval of 95 % by itself")
	case !bounded:
		return say("too few blocks for intervals")
	case s.p.Comparisons == 1:
		text = say("the interval has %s %% confidence", prose.Trim(100*s.p.Confidence))
	default:
		text = say("all %d intervals hold together with %s %% confidence", s.p.Comparisons, prose.Trim(100*s.p.Confidence))
	}
	switch {
	case beyond:
		text += say(", for this run; the notes have intervals for other runs on this machine")
	case !s.p.Unpaired:
		text += say(", for this run; another run can differ")
	}
	if s.p.Busy != nil {
		text += say("; the machine was busy")
	}
	return text
}

// Machines describes the hosts of runs, equal ones once, with their kernels and the versions of weir.
func Machines(runs ...map[string][]byte) (out []doc.Fact) {
	var kinds, kernels, versions doc.Groups[string, string] // names by what they have
	for _, hosts := range runs {
		for _, name := range slices.SortedFunc(maps.Keys(hosts), analysis.Natural) {
			var h struct {
				facts.Facts
				Weir string `json:"weir"`
			}
			if json.Unmarshal(hosts[name], &h) != nil {
				continue // the section about conditions says so
			}
			addName(&kinds, machine(h.Facts), name)
			addName(&kernels, h.Kernel, name)
			addName(&versions, h.Weir, name)
		}
	}
	for _, x := range []struct {
		one, several string
		of           doc.Groups[string, string]
	}{{"machine", "machines", kinds}, {"kernel", "kernels", kernels}, {"weir", "weir", versions}} {
		switch len(x.of.Keys) {
		case 0:
		case 1:
			key, value := x.one, x.of.Keys[0]
			if n := len(x.of.Of[value]); n > 1 && x.one == "machine" {
				key, value = x.several, say("%d, each %s", n, value)
			}
			out = append(out, doc.Fact{Key: word(key), Value: value})
		default:
			var each []string
			for _, k := range x.of.Keys {
				name := say("%s: ", prose.Machines(x.of.Of[k]))
				if slices.Equal(x.of.Of[k], x.of.Of[x.of.Keys[0]]) && slices.Equal(x.of.Of[k], x.of.Of[x.of.Keys[1]]) {
					name = "" // the same hosts, at different times
				}
				each = append(each, name+k)
			}
			out = append(out, doc.Fact{Key: word(x.several), Value: prose.Alternatives(each)})
		}
	}
	return out
}

// addName adds a name once, and nothing that is unknown.
func addName(g *doc.Groups[string, string], key, name string) {
	if key != "" && !slices.Contains(g.Of[key], name) {
		g.Add(key, name)
	}
}

// machine describes a host: "AMD EPYC, 2 CPUs, 23.5 GiB, virtual".
func machine(f facts.Facts) string {
	parts := []string{f.CPU}
	if f.CPUs > 0 {
		parts = append(parts, prose.Count(f.CPUs, "CPU"))
	}
	if f.Memory > 0 {
		parts = append(parts, gibibytes(float64(f.Memory)))
	}
	virtual := ""
	if f.Hypervisor {
		virtual = say("virtual")
	}
	parts = append(parts, cmp.Or(f.Guest, f.Sandbox, virtual))
	return prose.List(slices.DeleteFunc(parts, func(s string) bool { return s == "" }))
}

func gibibytes(bytes float64) string { return fmt.Sprintf("%.3g GiB", bytes/(1<<30)) }
