package record

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func checkParser(t *testing.T, p *parser, line string) (fast bool) {
	t.Helper()
	got, fast := p.result([]byte(line + "\n"))
	if !fast {
		return false
	}
	want, err := slow([]byte(line))
	if err != nil {
		t.Fatalf("the parser accepts what encoding/json refuses: %v: %q", err, line)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q:\n got %+v\nwant %+v", line, got, want)
	}
	return true
}

func TestParserReadsWhatWriteWrites(t *testing.T) {
	r := &Result{Trial: "b001-höst", Block: 1, Status: OK, Start: time.Unix(5, 7).UTC(), Elapsed: 1e-9, Config: map[string]string{},
		Observed: Observed{"a": ")", "b": ""}, Notes: []Note{NoteText.With("w]}"), NoteStalled.With()},
		Values: []Value{{Name: "x", Unit: "s", Value: -1.5e300}, {Name: "y", About: &About{"a.b", "p", "client", "q", "t/1", "0.5%"}, Hist: "HIST"}}}
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	var p parser
	for range 2 { // the second time from shared copies
		if !checkParser(t, &p, strings.TrimSuffix(b.String(), "\n")) {
			t.Errorf("left to encoding/json: %s", b.String())
		}
	}
}

func FuzzParser(f *testing.F) {
	b, err := os.ReadFile("../internal/report/testdata/results.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for i, line := range strings.SplitAfter(string(b), "\n") {
		if i%20 == 0 {
			f.Add(line)
		}
	}
	for _, s := range []string{
		`{"format":1,"values":[{"value":01}]}`, `{"format":1,"elapsed":1.}`, `{"format":1,"block":1e3}`, `{"format":1,"values":null}`,
		`{"format":1,"asked":{"a":"b"},"asked":{"c":"d"}}`, `{"Format":1}`, `{"format":1,"elapsed":-0}`, `{"format":1,"elapsed":1e999}`,
		`{"format":1,"trial":"\u00e4"}`, "{\"format\":1,\"trial\":\"\xff\"}", `{"format":1}x`, `{"format":1,"elapsed":}`, `{"format":1,}`,
		`{"format":1,"start":"2025-01-01T00:00:00Z"}`, `{"format":2,"trial":"t","block":1,"status":"ok","start":"2025-01-01T00:00:00Z","elapsed":1,"asked":{},"values":[{"name":"a","end":"","unit":"s","value":1}]}`,
		`{"format":2,"trial":"t","block":1,"status":"ok","start":"2025-01-01T00:00:00Z","elapsed":1,"asked":{},"notes":[{"code":"a"}]}`,
		`{"format":1,"trial":"t","block":1,"status":"ok","start":"2025-01-01T00:00:00Z","elapsed":1,"asked":{"a":"}"}}`, `{"format":1,"start":"never"}`, `{"format":1,"values":[{"name":"a","name":"b"}]}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var p parser
		checkParser(t, &p, line)
		checkParser(t, &p, line)
	})
}
