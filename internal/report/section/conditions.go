package section

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
)

// conditionSection shows the facts about the hosts, and differences that are not factors.
func conditionSection(s source) []doc.Section {
	x := doc.Section{ID: "conditions", Title: say("Conditions"), Parts: hosts(s.Hosts), Flat: true, Fold: true, In: doc.Full}
	if x.Parts == nil {
		x.About = say("The run stored no facts about hosts.")
	}
	if n := len(x.Parts); n > manyMachines {
		x.About = say("The facts of %d machines are in the files of the directory hosts; here are those of the first %d.", n, fewMachines)
		x.Parts = x.Parts[:fewMachines]
	}
	x.Parts = append(x.Parts, s.residue())
	return []doc.Section{x}
}

// residue lists the differences: a row for each value on a page, a sentence elsewhere.
func (s source) residue() doc.Section {
	x := doc.Section{ID: "residue", Title: say("What differed without being varied"), Label: say("What differed without being varied")}
	if len(s.p.Residue) == 0 {
		x.About, x.In = say("None: all ok trials agree in everything that they recorded."), []doc.Medium{doc.Page}
		return x
	}
	t := doc.Table{ID: "residue-table", Prose: true, In: []doc.Medium{doc.Page}, Columns: []doc.Column{{Head: say("key")}, {Head: say("scope")}, {Head: say("value")}, {Head: say("trials")}}}
	for _, d := range s.p.Residue {
		key, scope := d.Key, word(string(d.Scope))
		for _, v := range d.Values {
			t.Rows = append(t.Rows, doc.Row{Cells: doc.Texts(key, scope, v.Value, fmt.Sprintf("%d: %s", v.Trials, v.Where))})
			key, scope = "", "" // only in the first row
		}
	}
	for _, f := range finding.ResidueOf(s.Findings()) {
		x.Lines = append(x.Lines, doc.Line{Text: string(f.Text), In: []doc.Medium{doc.Terminal, doc.Markdown}})
	}
	x.Tables = []doc.Table{t}
	return x
}

// telling lists the most important facts by the last part of their key.
var telling = []string{"os", "kernel", "arch", "cpu", "model", "cpus", "cores", "memory", "virtualization", "virtual"}

func hosts(m map[string][]byte) (out []doc.Section) {
	for _, name := range slices.SortedFunc(maps.Keys(m), analysis.Natural) {
		h := doc.Section{ID: "host " + name, Title: name, Label: name, In: []doc.Medium{doc.Page}}
		d := json.NewDecoder(bytes.NewReader(m[name]))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			h.About = say("cannot read the facts: %v", err)
		}
		settings := settingsPart(name, v)
		facts := flatten("", v)
		for i, f := range facts {
			if n, err := strconv.ParseFloat(f.Value, 64); err == nil && f.Key == "memory" {
				facts[i].Value = gibibytes(n)
			}
		}
		var parts []string
		for _, key := range telling {
			for _, f := range facts {
				if strings.EqualFold(f.Key, key) && f.Value != "" {
					parts = append(parts, key+" "+f.Value)
				}
			}
		}
		if parts != nil {
			h.About = prose.List(parts)
		}
		h.Parts = settings
		if facts != nil {
			h.Parts = append(h.Parts, doc.Section{ID: "host " + name + " facts", Title: say("all facts"), Facts: facts, Fold: true})
		}
		out = append(out, h)
	}
	return out
}

// settingsPart lists the settings in a host's facts v that differ from the kernel's defaults, and
// removes them from v. Facts of older versions have none.
func settingsPart(name string, v any) []doc.Section {
	host, _ := v.(map[string]any)
	settings, looked := host["settings"].(map[string]any)
	delete(host, "settings")
	if !looked {
		return nil
	}
	x := doc.Section{ID: "host " + name + " settings", Title: say("Settings that differ from the kernel's defaults"),
		About: say("Only settings that are known to move results. Machines with the same settings are comparable.")}
	if len(settings) == 0 {
		x.About = say("None of the settings that are known to move results.")
		return []doc.Section{x}
	}
	t := doc.Table{ID: "settings " + name, Prose: true, Columns: []doc.Column{{Head: say("setting")}, {Head: say("value")}, {Head: say("default")}}}
	for _, key := range slices.SortedFunc(maps.Keys(settings), analysis.Natural) {
		s, _ := settings[key].(map[string]any)
		t.Rows = append(t.Rows, doc.Row{Cells: doc.Texts(key, fmt.Sprint(s["value"]), fmt.Sprint(s["default"]))})
	}
	x.Tables = []doc.Table{t}
	return []doc.Section{x}
}

// flatten turns JSON into sorted keys with dots.
func flatten(prefix string, v any) []doc.Fact {
	switch v := v.(type) {
	case map[string]any:
		var out []doc.Fact
		for _, k := range slices.SortedFunc(maps.Keys(v), analysis.Natural) {
			out = append(out, flatten(strings.TrimPrefix(prefix+"."+k, "."), v[k])...)
		}
		return out
	case []any:
		plain := make([]string, 0, len(v))
		for _, e := range v {
			switch e.(type) {
			case map[string]any, []any:
				var out []doc.Fact
				for i, e := range v {
					out = append(out, flatten(fmt.Sprintf("%s.%d", prefix, i+1), e)...)
				}
				return out
			}
			plain = append(plain, fmt.Sprint(e))
		}
		return []doc.Fact{{Key: prefix, Value: strings.Join(plain, ", ")}}
	case nil:
		return nil
	}
	return []doc.Fact{{Key: prefix, Value: fmt.Sprint(v)}}
}
