package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-bench/weir/record"
)

// loaded is one probe under five loads, on two networks. The loads have no order, so
// there is no figure of them.
func loaded(t *testing.T) Run {
	r := run(t)
	var out []record.Result
	for _, x := range r.Results {
		if x.Config["probe"] != "udp-rr" || x.Config["network"] == "bridge" {
			continue
		}
		for i, load := range []string{"idle", "a", "b", "c", "d"} {
			y := x
			y.Trial = x.Trial + "-" + load
			y.Config = map[string]string{"network": x.Config["network"], "probe": "udp-rr", "load": load}
			if len(x.Values) > 0 {
				v := x.Values[0]
				v.Value *= float64(1 + i)
				y.Values = []record.Value{v}
			}
			out = append(out, y)
		}
	}
	r.Results = out
	return r
}

// Where every table of a probe is folded and there is no figure, one table shows them all.
func TestLevelGlance(t *testing.T) {
	v := newView(loaded(t))
	if len(v.Sections) != 1 || v.Sections[0].Figures != nil {
		t.Fatalf("%d sections, %v", len(v.Sections), v.Sections[0].Figures)
	}
	s := v.Sections[0]
	for _, x := range s.Tables {
		if !x.Fold {
			t.Errorf("%s is not folded", x.Title)
		}
	}
	if len(s.Glance.Heads) != 2 || len(s.Glance.Rows) != 5 {
		t.Fatalf("%d columns, %d rows", len(s.Glance.Heads), len(s.Glance.Rows))
	}
	row := s.Glance.Rows[4]
	if row.Name != "load idle" || len(row.Cells) != 2 {
		t.Fatalf("%+v", row)
	}
	if base, other := row.Cells[0], row.Cells[1]; !strings.HasSuffix(base.Ratio, "µs") || base.Interval != "" || !strings.HasSuffix(other.Ratio, "×") || other.Interval == "" {
		t.Errorf("baseline %+v, network %+v", base, other)
	}
}

// One network alone is compared with nothing, but its levels have a least and a most.
func TestSpans(t *testing.T) {
	r := loaded(t)
	var host []record.Result
	for _, x := range r.Results {
		if x.Config["network"] == "host" {
			host = append(host, x)
		}
	}
	r.Results = host
	p := r.Pivot()
	as := answers(p, false)
	if len(as) != 1 || !strings.Contains(as[0].Text, "µs (load idle) to ") || !strings.Contains(as[0].Text, "µs (load d).") {
		t.Errorf("%v", as)
	}
}

// Trials that were left out for one reason are one line.
func TestNotOK(t *testing.T) {
	r := run(t)
	for i := range r.Results {
		if x := &r.Results[i]; x.Config["network"] == "bridge" {
			x.Status, x.Reason, x.Trial = record.Skipped, "dockerd: not found", fmt.Sprintf("t%03d", i)
		}
	}
	for _, l := range r.notOK() {
		if l.Reason == "dockerd: not found" {
			if l.Network != "bridge" || l.Status != record.Skipped || len(l.Trials) != 48 {
				t.Errorf("%s %s, %d trials", l.Network, l.Status, len(l.Trials))
			}
			return
		}
	}
	t.Error("the skipped trials are not named")
}
