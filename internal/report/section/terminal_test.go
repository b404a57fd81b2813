package section

import (
	"bytes"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

var writers = map[string]func(io.Writer, *account.Account) error{
	"html": of(render.HTML), "text": of(func(w io.Writer, d *doc.Document) error { return render.Text(w, d, 100) }),
	"markdown": of(render.Markdown), "summary": of(render.Summary), "json": of(render.JSON), "csv": func(w io.Writer, r *account.Account) error { return render.CSV(w, r.Results, each(r.Results)) },
}

func each(all []record.Result) iter.Seq2[*record.Result, error] {
	return func(yield func(*record.Result, error) bool) {
		for i := range all {
			if !yield(&all[i], nil) {
				return
			}
		}
	}
}

func of(f func(io.Writer, *doc.Document) error) func(io.Writer, *account.Account) error {
	return func(w io.Writer, r *account.Account) error { return f(w, Report(reporttest.Analyzed(r))) }
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
	reporttest.Golden(t, "report.html", []byte(write(t, writers["html"], reporttest.Run(t))))
	reporttest.Golden(t, "report.txt", []byte(write(t, writers["text"], reporttest.Run(t))))
	reporttest.Golden(t, "report.md", []byte(write(t, writers["markdown"], reporttest.Run(t))))
	reporttest.Golden(t, "summary.md", []byte(write(t, writers["summary"], reporttest.Run(t))))
	small := reporttest.Run(t)
	small.Results = slices.DeleteFunc(small.Results, func(r record.Result) bool { return r.Config["probe"] != "tcp-stream" })
	reporttest.Golden(t, "report.json", []byte(write(t, writers["json"], small)))
	small.Results = slices.DeleteFunc(small.Results, func(r record.Result) bool { return r.Block < 4 || r.Block > 5 })
	reporttest.Golden(t, "report.csv", []byte(write(t, writers["csv"], small)))
}

func TestOrderOfResultsDoesNotMatter(t *testing.T) {
	a, b := reporttest.Run(t), reporttest.Run(t)
	slices.Reverse(b.Results)
	for name, f := range writers {
		if name != "csv" && write(t, f, a) != write(t, f, b) {
			t.Errorf("%s depends on the order of the results", name)
		}
	}
}

func TestTextFits(t *testing.T) {
	r := reporttest.Run(t)
	for i := range r.Results {
		r.Results[i].Config["network"] += "-with-a-name-that-somebody-found-descriptive"
	}
	r.Baseline += "-with-a-name-that-somebody-found-descriptive"
	for _, width := range []int{60, 80, 100, 200} {
		var b bytes.Buffer
		if err := render.Text(&b, Report(reporttest.Analyzed(r)), width); err != nil {
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
		r := reporttest.Run(t)
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
