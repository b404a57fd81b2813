package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/record"
)

// CSV writes one line per trial and value, in base units: the form that
// statistics programs read. A trial without values has one line. Every factor
// beyond network and probe is a column.
func CSV(w io.Writer, r Run) error {
	factors := map[string]bool{}
	for _, x := range r.Results {
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
	if err := out.Write(append(head, "name", "unit", "value")); err != nil {
		return err
	}
	for _, x := range r.Results {
		line := []string{x.Trial, strconv.Itoa(x.Block), string(x.Status), x.Reason, x.Config[analysis.Network], x.Config[analysis.Probe]}
		for _, k := range more {
			line = append(line, x.Config[k])
		}
		values := x.Values
		if len(values) == 0 {
			values = []record.Value{{}}
		}
		for _, v := range values {
			number := ""
			if v.Name != "" {
				number = strconv.FormatFloat(v.Value, 'g', -1, 64)
			}
			if err := out.Write(append(slices.Clone(line), v.Name, v.Unit, number)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// Data is what JSON writes: the tables with their intervals, in base units.
type Data struct {
	Name        string            `json:"name"`
	Question    string            `json:"question,omitempty"`
	Pivot       *analysis.Run     `json:"pivot"`
	Gaps        []analysis.Gap    `json:"gaps,omitempty"`
	Percentiles []Percentiles     `json:"percentiles,omitempty"`
	Answers     map[string]string `json:"answers,omitempty"` // by network
	Findings    []finding.Finding `json:"findings,omitempty"`
	Claims      []claim.Outcome   `json:"claims,omitempty"`
	Problems    []string          `json:"problems,omitempty"`
}

// Percentiles are those of one row's merged histogram, in seconds.
type Percentiles struct {
	analysis.Cell
	Seconds map[string]float64 `json:"seconds"` // "50", "99", "99.9"
}

// JSON writes the tables for other programs.
func JSON(w io.Writer, r Run) error {
	p := r.Pivot()
	d := Data{Name: r.Name, Question: r.Question, Pivot: p.Run, Findings: p.findings, Claims: r.Claims, Problems: r.Problems, Answers: map[string]string{}}
	d.Gaps = d.Pivot.Gaps()
	for _, a := range answers(p, false) {
		d.Answers[a.Network] = a.Text
	}
	for _, t := range d.Pivot.Tables {
		for _, row := range t.Rows {
			p := Percentiles{analysis.Cell{Probe: t.Probe, Network: row.Network, Levels: t.Levels}, map[string]float64{}}
			for _, q := range []struct {
				name  string
				share float64
			}{{"50", 0.5}, {"90", 0.9}, {"99", 0.99}, {"99.9", 0.999}, {"99.99", 0.9999}} {
				if v, ok := row.Percentile(q.share); ok {
					p.Seconds[q.name] = v
				}
			}
			if len(p.Seconds) > 0 {
				d.Percentiles = append(d.Percentiles, p)
			}
		}
	}
	return indented(w, d)
}

func indented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// ClaimsJSON writes what became of published figures for other programs.
func ClaimsJSON(w io.Writer, outcomes []claim.Outcome) error { return indented(w, outcomes) }
