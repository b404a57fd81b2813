package render

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/record"
)

// CSV writes one line per trial and value, in base units, for statistics programs. A trial without
// values has one line. Every factor except network and probe adds a column. The last column says why a
// CPU time below 0, or a cost below what the counters resolve, has no number. about has the results with their factors, and
// results their values, so that not all of them need to be in memory.
func CSV(w io.Writer, about []record.Result, results iter.Seq2[*record.Result, error]) error {
	factors := map[string]bool{}
	for _, x := range about {
		for k := range x.Config {
			factors[k] = true
		}
	}
	delete(factors, analysis.Network)
	delete(factors, analysis.Probe)
	more := slices.Sorted(maps.Keys(factors))
	out := csv.NewWriter(w)
	head := []string{"trial", "block", "status", "reason", "network", "probe"}
	for _, k := range more {
		head = append(head, "asked."+k)
	}
	fields(out, append(head, "name", "unit", "value", "missing", "host", "place", "end", "program", "thread", "goal")...)
	for x, err := range results {
		if err != nil {
			return err
		}
		line := []string{x.Trial, strconv.Itoa(x.Block), string(x.Status), x.Reason, x.Config[analysis.Network], x.Config[analysis.Probe]}
		for _, k := range more {
			line = append(line, x.Config[k])
		}
		values := x.Values
		if len(values) == 0 {
			values = []record.Value{{}}
		}
		for _, v := range values {
			number, missing := "", ""
			switch {
			case v.Name == "":
			case !analysis.Resolved(x, v):
				missing = analysis.BelowSteps
			default:
				number = strconv.FormatFloat(v.Value, 'g', -1, 64)
			}
			k := v.Key()
			fields(out, append(slices.Clip(line), string(v.Name), v.Unit, number, missing, k.Host, k.Place, k.End, k.Program, k.Thread, k.Goal)...)
		}
	}
	out.Flush()
	return out.Error()
}

// fields writes a line that a spreadsheet takes for text and numbers, never for formulas. Flush reports errors.
func fields(out *csv.Writer, all ...string) {
	safe := make([]string, len(all))
	for i, f := range all {
		safe[i] = foreign.Cell(f)
	}
	_ = out.Write(safe)
}

// Format is the version of a document's JSON. Within a version fields are only added: a reader of the
// version reads the JSON of every later weir if it ignores keys that it does not know.
const Format = 2

// JSON writes a document with its numbers in base units, and the whole analysis, in English whatever its language. Sections that
// stand alone say nothing that the others do not.
func JSON(w io.Writer, d *doc.Document) error {
	v := d.In(nil)
	v.Format = Format
	v.Sections = slices.DeleteFunc(slices.Clone(v.Sections), func(s doc.Section) bool { return slices.Equal(s.In, []doc.Medium{doc.Alone}) })
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
