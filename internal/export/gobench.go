package export

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/record"
)

// GoBench writes runs in the Go benchmark format, which benchstat reads
// (https://go.dev/design/14313-benchmark-format): a line per trial that counts, named
// Weir/probe=P/network=N/FACTOR=LEVEL-CPUS. Unlike weir, benchstat does not pair trials of one block.
//
// A line holds the values that are better in one direction, each in a unit NAME-UNIT with a Unit line.
// Percentiles are left out: benchstat would summarize those of single trials.
func GoBench(w io.Writer, runs []*account.Account) error {
	b := new(bytes.Buffer)
	cpus := "1"
	for _, f := range about(runs) {
		fmt.Fprintf(b, "%s: %s\n", f.key, f.value)
		if f.key == "cpus" {
			cpus, _, _ = strings.Cut(f.value, ",")
		}
	}
	directions := map[string]string{} // by unit
	var lines bytes.Buffer
	for _, run := range runs {
		results := map[string]*record.Result{}
		for x := range run.Analysis.Results() {
			results[x.Trial] = x
		}
		for t, row := range run.Analysis.Rows() {
			for _, p := range row.Points {
				if row.Counts(p.Status) {
					benchLine(&lines, results[p.Trial], t.Metric, cpus, directions)
				}
			}
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(directions)) {
		fmt.Fprintf(b, "Unit %s better=%s\n", unit, directions[unit])
	}
	_, err := w.Write(append(b.Bytes(), lines.Bytes()...))
	return err
}

// benchLine writes one trial, or nothing if it has no such value.
func benchLine(b *bytes.Buffer, x *record.Result, metric record.Quantity, cpus string, directions map[string]string) {
	var values strings.Builder
	for _, v := range x.Values {
		better := direction(v, metric)
		if better == "" || !analysis.Resolved(x, v) {
			continue
		}
		unit := benchUnit(v)
		directions[unit] = better
		fmt.Fprintf(&values, " %s %s", strconv.FormatFloat(v.Value, 'g', -1, 64), unit)
	}
	if values.Len() == 0 {
		return
	}
	fmt.Fprintf(b, "BenchmarkWeir/probe=%s/network=%s", url.PathEscape(x.Config[analysis.Probe]), url.PathEscape(x.Config[analysis.Network]))
	for _, k := range slices.Sorted(maps.Keys(x.Config)) {
		if k != analysis.Probe && k != analysis.Network {
			fmt.Fprintf(b, "/%s=%s", url.PathEscape(k), url.PathEscape(x.Config[k]))
		}
	}
	// Without this suffix, which Go uses for GOMAXPROCS, readers would take that of a network "host-2" for it.
	fmt.Fprintf(b, "-%s 1%s\n", cpus, values.String())
}

// direction returns in which direction a value is better, "" if in none or unknown.
func direction(v record.Value, metric record.Quantity) string {
	switch {
	case v.Key() != v.Name.Whole() || v.Name != metric && !v.Name.In(compared...):
		return ""
	case v.Name.LowerIsBetter(v.Unit):
		return "lower"
	}
	return "higher"
}

// compared lists the quantities of a trial that benchstat compares besides its metric.
var compared = []record.Quantity{record.Throughput, record.Goodput, record.PacketRate, record.Transactions, record.Capacity,
	record.Loss, record.Retransmits, record.Jitter, record.CPUPerPacket, record.CPUPerTransaction, record.CPUPerBit,
	record.CPUOwnPerPacket, record.CPUOwnPerTransaction, record.CPUOwnPerBit}

// benchUnit names a value's unit in Go's words. It is unique on a line, because it begins with the name.
func benchUnit(v record.Value) string {
	name, unit := foreign.Field(string(v.Name)), foreign.Field(v.Unit)
	switch rest, seconds := strings.CutPrefix(unit, "s"); {
	case unit == "1":
		return name
	case unit == "1/s":
		return name + "/s"
	case seconds && (rest == "" || rest[0] == '/'):
		return name + "-sec" + rest
	}
	return name + "-" + unit
}
