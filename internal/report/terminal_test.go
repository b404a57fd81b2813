package report

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/record"
)

var writers = map[string]func(io.Writer, *account.Account) error{
	"html": of(HTML), "text": of(func(w io.Writer, d *Document) error { return Text(w, d, 100) }),
	"markdown": of(Markdown), "summary": of(Summary), "json": of(JSON), "csv": func(w io.Writer, r *account.Account) error { return CSV(w, r.Results) },
}

func of(f func(io.Writer, *Document) error) func(io.Writer, *account.Account) error {
	return func(w io.Writer, r *account.Account) error { return f(w, New(analyzed(r))) }
}

// analyzed is the account of a run, again the account of one that has changed.
func analyzed(r *account.Account) *account.Account {
	if r.Analysis != nil {
		return r
	}
	return again(r)
}

func again(r *account.Account) *account.Account {
	a := account.Of(r.Contents)
	a.Claims = r.Claims
	return a
}

func write(t testing.TB, f func(io.Writer, *account.Account) error, r *account.Account) string {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	golden(t, "report.html", []byte(write(t, writers["html"], run(t))))
	golden(t, "report.txt", []byte(write(t, writers["text"], run(t))))
	golden(t, "report.md", []byte(write(t, writers["markdown"], run(t))))
	golden(t, "summary.md", []byte(write(t, writers["summary"], run(t))))
	small := run(t)
	small.Results = slices.DeleteFunc(small.Results, func(r record.Result) bool { return r.Config["probe"] != "tcp-stream" })
	golden(t, "report.json", []byte(write(t, writers["json"], small)))
	small.Results = slices.DeleteFunc(small.Results, func(r record.Result) bool { return r.Block < 4 || r.Block > 5 })
	golden(t, "report.csv", []byte(write(t, writers["csv"], small)))
}

func TestOrderOfResultsDoesNotMatter(t *testing.T) {
	a, b := run(t), run(t)
	slices.Reverse(b.Results)
	for name, f := range writers {
		if name != "csv" && write(t, f, a) != write(t, f, b) {
			t.Errorf("%s depends on the order of the results", name)
		}
	}
}

func TestTextFits(t *testing.T) {
	r := run(t)
	for i := range r.Results {
		r.Results[i].Config["network"] += "-with-a-name-that-somebody-found-descriptive"
	}
	r.Baseline += "-with-a-name-that-somebody-found-descriptive"
	for _, width := range []int{60, 80, 100, 200} {
		var b bytes.Buffer
		if err := Text(&b, New(analyzed(r)), width); err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(b.String(), "\n") {
			if n := utf8.RuneCountInString(l); n > width {
				t.Errorf("width %d: a line of %d: %s", width, n, l)
			}
		}
	}
}

func TestScheduleColumns(t *testing.T) {
	for _, bad := range []bool{false, true} {
		r := run(t)
		for i := range r.Results {
			x := &r.Results[i]
			x.Config["probe"] = strings.Replace(x.Config["probe"], "udp-rr", "udp-open", 1)
			late := record.Value{Name: "late", Unit: "1"}
			if bad && x.Config["network"] == "bridge" {
				late.Value = 0.25
			}
			x.Values = append(slices.Clone(x.Values), late, record.Value{Name: "stalls", Unit: "1", Value: 4 * late.Value})
		}
		s := write(t, writers["markdown"], r)
		if strings.Contains(s, "| late | stalls |") != bad || strings.Contains(s, "| 25.0 % | 1.0") != bad {
			t.Errorf("with late requests %v:\n%s", bad, s)
		}
	}
}
