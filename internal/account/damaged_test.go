package account

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

// times writes results of response times with one change.
func times(t *testing.T, change func(*record.Result), text func(string) string) string {
	t.Helper()
	h := hdrhistogram.New(1, 1e9, 3)
	if err := h.RecordValue(50_000); err != nil {
		t.Fatal(err)
	}
	hist, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, r := range results(4) {
		r.Config["probe"] = "udp-rr"
		r.Values = []record.Value{{Name: "rtt", Unit: "s", Value: 5e-5, Hist: string(hist)}}
		if r.Trial == "b002-bridge" {
			change(&r)
		}
		if err := record.Write(&b, &r); err != nil {
			t.Fatal(err)
		}
	}
	return stored(t, map[string]string{"results.jsonl": text(b.String()), "study.yaml": "name: small\nblocks: 4\nnetworks: [host, bridge]\nprobes: [udp-rr]\n"})
}

// Damage is named with its file and its trial, and with what helps. It is never taken for a run that was stopped.
func TestDamaged(t *testing.T) {
	same := func(s string) string { return s }
	none := func(*record.Result) {}
	for name, c := range map[string]struct {
		change func(*record.Result)
		text   func(string) string
		want   []string
		not    string
	}{
		"whole":     {none, same, nil, "trials"},
		"histogram": {func(r *record.Result) { r.Values[0].Hist = "HISTFAAA" }, same, []string{"results.jsonl: damaged histograms of response times: 1", "(b002-bridge)", "copy the file again"}, "stopped"},
		"negative":  {func(r *record.Result) { r.Values[0].Value = -1 }, same, []string{`trial "b002-bridge" does not count: its rtt is -1 s`, "only 7 of 8 trials, because results.jsonl is damaged (bad lines: 1)", "weir run --resume"}, "stopped"},
		"middle": {none, func(s string) string { return strings.Replace(s, `{"format":2,"trial":"b002-bridge"`, "{", 1) },
			[]string{"results.jsonl:4: ", "only 7 of 8 trials, because results.jsonl is damaged (bad lines: 1)"}, "stopped"},
		"all but one": {none, func(s string) string { return strings.ReplaceAll(s, `{"format":2,"trial":"b00`, "{") + "{}\n" },
			[]string{"results.jsonl:3: ", "results.jsonl: and 6 more lines that cannot be read or do not count"}, "results.jsonl:4: "},
		"stopped": {none, func(s string) string { return s[:len(s)-10] }, []string{"only 7 of 8 trials: the run was stopped"}, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := Read(times(t, c.change, c.text), Options{})
			if err != nil {
				t.Fatal(err)
			}
			problems := lang.Join(a.Problems, "\n").String()
			for _, want := range c.want {
				if !strings.Contains(problems, want) {
					t.Errorf("no problem %q:\n%s", want, problems)
				}
			}
			if strings.Contains(problems, c.not) {
				t.Errorf("%q in:\n%s", c.not, problems)
			}
		})
	}
}

// A directory that has lost its study says so.
func TestNoStudy(t *testing.T) {
	dir := stored(t, nil)
	if err := os.Remove(filepath.Join(dir, StudyFile)); err != nil {
		t.Fatal(err)
	}
	_, err := Read(dir, Options{})
	if want := fmt.Sprintf("%s/study.yaml: ", dir); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "empty") || failure.Status(err) != 2 {
		t.Errorf("status %d: %v", failure.Status(err), err)
	}
}
