package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/weir-bench/weir/record"
)

func example() *record.Result {
	return &record.Result{
		Format: record.Format, Trial: "b001-host-tcp-stream", Block: 1, Status: record.OK,
		Start: time.Date(2025, 3, 1, 12, 0, 0, 5, time.UTC), Elapsed: 0.25,
		Config:   map[string]string{"network": "host", "probe": "tcp-stream"},
		Observed: map[string]string{"cc": "cubic <&>"},
		Values:   []record.Value{{Name: "throughput", Unit: "bit/s", Value: 9.41e9}, {Name: "rtt", Unit: "s", Value: 2e-5, Hist: "HISTFAAA"}},
	}
}

func line(t *testing.T, r *record.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := record.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// read collects the items of All and checks that each is either a result or an error.
func read(t testing.TB, r io.Reader) (rs []*record.Result, errs []error) {
	t.Helper()
	for res, err := range record.All(r, "f") {
		if (res == nil) == (err == nil) {
			t.Fatalf("All yielded %v and %v", res, err)
		}
		if err != nil {
			errs = append(errs, err)
		} else {
			rs = append(rs, res)
		}
	}
	return rs, errs
}

type countingWriter struct {
	calls int
	err   error
}

func (w *countingWriter) Write(p []byte) (int, error) { w.calls++; return len(p), w.err }

func TestWriteIsOneCall(t *testing.T) {
	w := &countingWriter{}
	if err := record.Write(w, example()); err != nil || w.calls != 1 {
		t.Errorf("err %v, %d calls of Write, want 1", err, w.calls)
	}
	w.err = io.ErrClosedPipe
	if err := record.Write(w, example()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error of the writer is lost: %v", err)
	}
}

func TestRoundTrip(t *testing.T) {
	want := example()
	text := line(t, want)
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		t.Errorf("not one line: %q", text)
	}
	if !strings.Contains(text, "cubic <&>") {
		t.Errorf("text is escaped for HTML: %s", text)
	}
	rs, errs := read(t, strings.NewReader(text))
	if len(rs) != 1 || len(errs) != 0 || !reflect.DeepEqual(rs[0], want) {
		t.Errorf("got %+v, %v", rs, errs)
	}
}

func TestWriteSetsFormat(t *testing.T) {
	r := example()
	r.Format = 0
	if rs, errs := read(t, strings.NewReader(line(t, r))); len(errs) != 0 || rs[0].Format != record.Format {
		t.Errorf("got %v, %v", rs, errs)
	}
	if r.Format != 0 {
		t.Error("Write changed its argument")
	}
}

func TestWriteRefuses(t *testing.T) {
	for name, f := range map[string]struct {
		set  func(*record.Result)
		want string
	}{
		"nan":     {func(r *record.Result) { r.Values[1].Value = math.NaN() }, "value rtt is NaN"},
		"inf":     {func(r *record.Result) { r.Values[0].Value = math.Inf(1) }, "value throughput is +Inf"},
		"elapsed": {func(r *record.Result) { r.Elapsed = math.Inf(-1) }, "elapsed is -Inf"},
		"time":    {func(r *record.Result) { r.Start = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, "year"},
		"size":    {func(r *record.Result) { r.Reason = strings.Repeat("x", record.MaxLine) }, "more than 16777216"},
	} {
		r, w := example(), &countingWriter{}
		f.set(r)
		err := record.Write(w, r)
		if err == nil || !strings.Contains(err.Error(), f.want) || !strings.Contains(err.Error(), r.Trial) {
			t.Errorf("%s: error %v lacks %q", name, err, f.want)
		}
		if w.calls != 0 {
			t.Errorf("%s: something was written", name)
		}
	}
}

func TestBadLines(t *testing.T) {
	good := line(t, example())
	for name, c := range map[string]struct {
		in   string
		good int
		errs []string
	}{
		"empty":        {"", 0, nil},
		"junk between": {good + "junk\n" + good, 2, []string{"f:2: invalid character"}},
		"empty line":   {good + "\n" + good, 2, []string{"f:2: unexpected end of JSON input"}},
		"null":         {"null\n" + good, 1, []string{"f:1: format 0 is outside 1 to 2"}},
		"old":          {`{"format":0}` + "\n", 0, []string{"f:1: format 0 is outside 1 to 2"}},
		"newer":        {`{"format":3,"values":"other"}` + "\n" + good, 1, []string{"f:1: format 3 is newer than 2"}},
		"wrong type":   {`{"format":1,"block":"x"}` + "\n" + good, 1, []string{"f:1: json: cannot unmarshal"}},
		"out of range": {`{"format":1,"elapsed":1e999}` + "\n", 0, []string{"f:1: json: cannot unmarshal"}},
		"unknown key":  {`{"format":1,"later":1}` + "\n", 1, nil},
		"truncated":    {good + good[:len(good)/2], 1, []string{"f:2: incomplete last line"}},
		"no newline":   {good + good[:len(good)-1], 1, []string{"f:2: incomplete last line"}},
	} {
		rs, errs := read(t, strings.NewReader(c.in))
		if len(rs) != c.good || len(errs) != len(c.errs) {
			t.Errorf("%s: %d results, errors %v", name, len(rs), errs)
			continue
		}
		for i, want := range c.errs {
			var se *record.SyntaxError
			if !errors.As(errs[i], &se) || !strings.HasPrefix(errs[i].Error(), want) {
				t.Errorf("%s: error %v, want %s", name, errs[i], want)
			}
		}
	}
}

func TestErrorKinds(t *testing.T) {
	_, errs := read(t, strings.NewReader(`{"format":9}`+"\n"+`{"format"`))
	if len(errs) != 2 || !errors.Is(errs[0], record.ErrNewer) || !errors.Is(errs[1], io.ErrUnexpectedEOF) {
		t.Errorf("errors %v", errs)
	}
}

// A line can be much longer than the 64 KiB of a bufio.Scanner, up to MaxLine.
func TestLongLines(t *testing.T) {
	r := example()
	r.Notes = []record.Note{record.NoteText.With(strings.Repeat("w", record.MaxLine-len(line(t, r))-len(`,"notes":[{"code":"text","args":[""]}]`)))}
	longest := line(t, r)
	if len(longest) != record.MaxLine {
		t.Fatalf("the longest line has %d bytes, want %d", len(longest), record.MaxLine)
	}
	longer := strings.Replace(longest, "ww", "www", 1)
	in := io.MultiReader(strings.NewReader(longest), strings.NewReader(longer), strings.NewReader(line(t, example())))
	rs, errs := read(t, in)
	if len(rs) != 2 || len(rs[0].Notes) != 1 || len(rs[1].Notes) != 0 {
		t.Errorf("%d results", len(rs))
	}
	want := fmt.Sprintf("f:2: line of %d bytes is longer than %d", record.MaxLine+1, record.MaxLine)
	if len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("errors %v, want %s", errs, want)
	}
}

func TestReaderError(t *testing.T) {
	in := io.MultiReader(strings.NewReader(line(t, example())), iotest.ErrReader(io.ErrClosedPipe))
	rs, errs := read(t, in)
	var se *record.SyntaxError
	if len(rs) != 1 || len(errs) != 1 || !errors.Is(errs[0], io.ErrClosedPipe) || errors.As(errs[0], &se) {
		t.Errorf("%d results, errors %v", len(rs), errs)
	}
}

func TestStopEarly(t *testing.T) {
	text := line(t, example())
	n := 0
	for range record.All(strings.NewReader(text+"junk\n"+text), "f") {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d items", n)
	}
}

func FuzzAll(f *testing.F) {
	var b bytes.Buffer
	if err := record.Write(&b, example()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("{\"format\":1}\n\nnull\n{\"format\":3}\n{"))
	f.Fuzz(func(t *testing.T, in []byte) {
		rs, errs := read(t, bytes.NewReader(in))
		lines := bytes.Count(in, []byte("\n"))
		if len(in) > 0 && in[len(in)-1] != '\n' {
			lines++
		}
		if len(rs)+len(errs) != lines {
			t.Errorf("%d results and %d errors from %d lines", len(rs), len(errs), lines)
		}
		for _, r := range rs { // every readable result is writable
			if err := record.Write(io.Discard, r); err != nil {
				t.Error(err)
			}
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("b001-a-b", 1, "ok", "", int64(1e18), 1.5, "network", "host", "throughput", "bit/s", 9.4e9, "")
	f.Fuzz(func(t *testing.T, trial string, block int, status, reason string, start int64, elapsed float64, key, level, name, unit string, v float64, hist string) {
		want := &record.Result{
			Format: record.Format, Trial: trial, Block: block, Status: record.Status(status), Reason: reason,
			Start: time.Unix(start%1e10, start%1e9).UTC(), Elapsed: elapsed, Config: map[string]string{key: level},
			Values: []record.Value{{Name: record.Quantity(name), Unit: unit, Value: v, Hist: hist}},
		}
		for _, s := range []string{trial, status, reason, key, level, name, unit, hist} {
			if !utf8.ValidString(s) {
				return // JSON text is UTF-8; the writer replaces bad bytes
			}
		}
		var b bytes.Buffer
		if err := record.Write(&b, want); err != nil {
			if !math.IsNaN(v+elapsed) && !math.IsInf(v, 0) && !math.IsInf(elapsed, 0) && want.Start.Year() >= 0 && want.Start.Year() < 10000 {
				t.Fatal(err)
			}
			return
		}
		rs, errs := read(t, &b)
		if len(rs) != 1 || len(errs) != 0 {
			t.Fatalf("%d results, %v", len(rs), errs)
		}
		if !reflect.DeepEqual(rs[0], want) {
			t.Errorf("got %+v, want %+v", rs[0], want)
		}
	})
}

// A run that was recorded in format 1 reads as the same run in today's format: every value, observation and note.
func TestFormat1ReadsAsToday(t *testing.T) {
	var runs [2][]*record.Result
	for i, name := range []string{"testdata/format1.jsonl", "../internal/report/testdata/results.jsonl"} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var errs []error
		if runs[i], errs = read(t, f); errs != nil {
			t.Fatal(errs)
		}
	}
	if len(runs[0]) != 144 || len(runs[1]) != len(runs[0]) {
		t.Fatalf("%d and %d results", len(runs[0]), len(runs[1]))
	}
	for i, old := range runs[0] {
		if !reflect.DeepEqual(old, runs[1][i]) {
			t.Errorf("format 1: %+v\nformat 2: %+v", old, runs[1][i])
		}
	}
}
