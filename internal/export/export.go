// Package export writes analyzed results in the formats of other tools: Go benchmarks, JUnit, GitHub's
// annotations and benchmark charts, OpenMetrics. A format is a file with a pure function from results to
// bytes; its tests read the bytes back with the consumer's own parser.
//
// The package must not compute a statistic (package analysis did), average a percentile, or write a
// number without its unit. Weir's own formats are package report's.
package export

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A number is a value of a cell or a ratio of cells, of one run or pooled over several.
type number struct {
	analysis.Cell                   // Compared is "" for a value, "network bridge ÷ host" for a ratio
	factors       map[string]string // of the cell: all but network and probe
	metric        record.Quantity
	unit          string // of the value, or of both sides of the ratio
	interval      stat.Interval
}

// numbers returns the values that have intervals, and the ratios. The intervals of ratios hold together,
// each of the others by itself.
func numbers(runs []*account.Account) (out []number) {
	add := func(c analysis.Cell, factors map[string]string, metric record.Quantity, unit, compared string, i stat.Interval) {
		if i.N > 0 {
			c.Compared = compared
			out = append(out, number{c, factors, metric, unit, i})
		}
	}
	if len(runs) == 1 {
		r := runs[0].Analysis
		for t, row := range r.Rows() {
			c, against := t.Cell(*row), divided(row.Network, r.Baseline)
			add(c, t.Config, t.Metric, t.Unit, "", row.Value)
			add(c, t.Config, t.Metric, t.Unit, against, row.Ratio)
			add(c, t.Config, row.Own.Name, row.Own.Unit, "", row.Own.Value)
			add(c, t.Config, row.Own.Name, row.Own.Unit, against, row.Own.Ratio)
		}
		for _, x := range r.Contrasts {
			for _, row := range x.Rows {
				add(row.Cell, with(row.Config, row.Of), row.Metric, row.Unit, x.Name(row.Of), row.Ratio)
			}
		}
		return out
	}
	p := analysis.Pool(account.Analyses(runs), 0)
	for _, c := range p.Cells {
		add(c.Cell, c.Config, c.Metric, c.Unit, "", c.Value.Interval)
		add(c.Cell, c.Config, c.Metric, c.Unit, divided(c.Network, p.Baseline), c.Ratio.Interval)
	}
	for _, x := range p.Contrasts {
		for _, row := range x.Rows {
			add(row.Cell, with(row.Config, row.Of), row.Metric, row.Unit, x.Name(row.Of), row.Ratio.Interval)
		}
	}
	return out
}

// divided names the ratio of a network to the baseline, as the CSV of ratios does.
func divided(network, baseline string) string { return "network " + network + " ÷ " + baseline }

// with returns both, without network and probe, which a number has anyway.
func with(config, of map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, config)
	maps.Copy(all, of)
	delete(all, analysis.Network)
	delete(all, analysis.Probe)
	return all
}

// A fact is a property of a run that numbers depend on.
type fact struct{ key, value string }

// about returns the facts of runs that are known, in a fixed order. Where hosts differ, all are listed.
func about(runs []*account.Account) (out []fact) {
	values := map[string][]string{}
	for _, r := range runs {
		values["study"] = append(values["study"], foreign.Line(r.Name))
		for _, b := range r.Hosts {
			var h struct {
				Weir, Kernel, Distribution, Machine, CPU string
				CPUs                                     json.Number
			}
			if json.Unmarshal(b, &h) != nil {
				continue // a damaged file costs what it says
			}
			for k, v := range map[string]string{"weir": h.Weir, "kernel": h.Kernel, "distribution": h.Distribution,
				"machine": h.Machine, "cpu": h.CPU, "cpus": h.CPUs.String()} {
				values[k] = append(values[k], foreign.Line(v))
			}
		}
	}
	for _, k := range []string{"study", "weir", "kernel", "distribution", "machine", "cpu", "cpus"} {
		known := slices.DeleteFunc(values[k], func(v string) bool { return v == "" || v == "0" })
		slices.Sort(known)
		if known = slices.Compact(known); len(known) > 0 {
			out = append(out, fact{k, strings.Join(known, ", ")})
		}
	}
	return out
}
