package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/unit"
)

// A pathRow is what the headers leave on the path of one network.
type pathRow struct {
	Network, MTU, Overhead, Link string
	Ceilings                     []string
}

// paths gathers what trials found about their path.
func paths(p analysed) []pathRow {
	var out []pathRow
	for _, n := range p.Networks {
		row := pathRow{Network: n}
		var mtu, overhead, link []string
		for _, t := range p.Tables {
			for _, r := range t.Rows {
				if r.Network != n {
					continue
				}
				mtu, overhead = addNew(mtu, r.Observed["path.mtu"]), addNew(overhead, r.Observed["path.overhead"])
				if v := r.Wire.Link; v > 0 {
					link = addNew(link, unit.Format(v, "bit/s"))
				}
				if c := r.Wire.Ceiling; c > 0 {
					row.Ceilings = append(row.Ceilings, tableTitle(t)+" "+unit.Format(c, t.Unit))
				}
			}
		}
		row.MTU, row.Overhead, row.Link = strings.Join(mtu, ", "), strings.Join(overhead, ", "), strings.Join(link, ", ")
		if row.MTU+row.Overhead+row.Link != "" || row.Ceilings != nil {
			out = append(out, row)
		}
	}
	return out
}

func addNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// A host is a machine and what is known about it.
type host struct {
	Name, Summary string
	Facts         []fact
}

type fact struct{ Key, Value string }

// telling are the facts that a reader asks for first, by the last part of their key.
var telling = []string{"os", "kernel", "arch", "cpu", "model", "cpus", "cores", "memory", "virtualization", "virtual"}

func hosts(m map[string][]byte) []host {
	var out []host
	for _, name := range slices.SortedFunc(maps.Keys(m), analysis.Natural) {
		h := host{Name: name}
		d := json.NewDecoder(bytes.NewReader(m[name]))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			h.Summary = fmt.Sprintf("cannot be read: %v", err)
		}
		h.Facts = flatten("", v)
		var parts []string
		for _, key := range telling {
			for _, f := range h.Facts {
				if strings.EqualFold(f.Key, key) && f.Value != "" {
					parts = append(parts, key+" "+f.Value)
				}
			}
		}
		if parts != nil {
			h.Summary = strings.Join(parts, ", ")
		}
		out = append(out, h)
	}
	return out
}

// flatten turns JSON into keys with dots, sorted.
func flatten(prefix string, v any) []fact {
	switch v := v.(type) {
	case map[string]any:
		var out []fact
		for _, k := range slices.SortedFunc(maps.Keys(v), analysis.Natural) {
			out = append(out, flatten(strings.TrimPrefix(prefix+"."+k, "."), v[k])...)
		}
		return out
	case []any:
		plain := make([]string, 0, len(v))
		for _, e := range v {
			switch e.(type) {
			case map[string]any, []any:
				var out []fact
				for i, e := range v {
					out = append(out, flatten(fmt.Sprintf("%s.%d", prefix, i+1), e)...)
				}
				return out
			}
			plain = append(plain, fmt.Sprint(e))
		}
		return []fact{{prefix, strings.Join(plain, ", ")}}
	case nil:
		return nil
	}
	return []fact{{prefix, fmt.Sprint(v)}}
}
