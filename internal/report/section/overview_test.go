package section

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// loaded is one probe under five loads on two networks. Loads have no order, and so no figure.
func loaded(t *testing.T) *account.Account {
	r := reporttest.Run(t)
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

// If every table of a probe is folded and there is no figure, one table shows them all.
func TestLevelOverview(t *testing.T) {
	s := reporttest.Part(Report(reporttest.Analyzed(loaded(t))), "probe-udp-rr")
	if s == nil || s.Figures != nil {
		t.Fatalf("%+v", s)
	}
	for _, x := range s.Parts {
		if !x.Fold {
			t.Errorf("%s is not folded", x.Title)
		}
	}
	if len(s.Tables) != 1 || len(s.Tables[0].Columns) != 3 || len(s.Tables[0].Rows) != 5 {
		t.Fatalf("%+v", s.Tables)
	}
	c := s.Tables[0].Rows[4].Cells
	if c[0].Text != "load idle" || !strings.HasSuffix(c[1].Text, "µs") || c[1].Small != "" || !strings.HasSuffix(c[2].Text, "×") || c[2].Small == "" {
		t.Errorf("%+v", c)
	}
}

// A single network has no comparison, but its levels have a least and a most.
func TestSpans(t *testing.T) {
	r := loaded(t)
	var host []record.Result
	for _, x := range r.Results {
		if x.Config["network"] == "host" {
			host = append(host, x)
		}
	}
	r.Results = host
	as := lang.In(nil, newSource(reporttest.Analyzed(r)).answer())
	if len(as) != 2 || !strings.Contains(as[0], "µs (load idle) to ") || !strings.Contains(as[0], "µs (load d).") || !strings.Contains(as[1], "nothing to compare") {
		t.Errorf("%v", as)
	}
}

// Trials left out for the same reason share a line.
func TestNotOK(t *testing.T) {
	r := reporttest.Run(t)
	for i := range r.Results {
		if x := &r.Results[i]; x.Config["network"] == "bridge" {
			x.Status, x.Reason, x.Trial = record.Skipped, "dockerd: not found", fmt.Sprintf("t%03d", i)
		}
	}
	for _, row := range reporttest.Part(Report(reporttest.Analyzed(r)), "not-counted").Tables[0].Rows {
		if c := row.Cells; c[2].Text == "dockerd: not found" {
			if c[0].Text != "48 of bridge" || c[1].Text != "skipped" || len(c[0].More) != 48 {
				t.Errorf("%+v", c)
			}
			return
		}
	}
	t.Error("the skipped trials are not named")
}
