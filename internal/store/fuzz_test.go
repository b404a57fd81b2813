package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/weir-bench/weir/record"
)

// A results directory can come from anywhere. What Read accepts, a run continues, and then Read finds the same
// trials.
func FuzzRead(f *testing.F) {
	var seed bytes.Buffer
	for _, id := range []string{"b001-a", "b001-b", "b002-a"} {
		if err := record.Write(&seed, result(id)); err != nil {
			f.Fatal(err)
		}
	}
	b := seed.Bytes()
	f.Add(b, []byte("name: x\n"), []byte("{}"))
	f.Add(b[:len(b)-9], []byte{}, []byte("null"))
	f.Add([]byte("\x00\n\n{}\n"), []byte("\xff"), []byte("[1e999]"))
	f.Fuzz(func(t *testing.T, results, study, other []byte) {
		dir := t.TempDir()
		must(t)(os.Mkdir(filepath.Join(dir, "hosts"), 0o700))
		for name, content := range map[string][]byte{"results.jsonl": results, "study.yaml": study, "probes.json": other, "profiles.jsonl": other, "hosts/local.json": other} {
			must(t)(os.WriteFile(filepath.Join(dir, name), content, 0o600))
		}
		before, err := Read(dir)
		must(t)(err)
		d, err := Open(dir)
		if err != nil {
			return
		}
		if n := len(d.Done()); n != len(recorded(t, d)) || n != len(before.Results) && len(results) > 0 && results[len(results)-1] == '\n' {
			t.Errorf("Open finds %d trials, Read %d", n, len(before.Results))
		}
		must(t)(d.Close())
		after, err := Read(dir)
		must(t)(err)
		if len(after.Results) > len(before.Results) {
			t.Errorf("%d trials, after a resume %d", len(before.Results), len(after.Results))
		}
	})
}

// The plan of a series holds what it says, or is refused.
func FuzzSeries(f *testing.F) {
	for _, s := range []string{`{"runs":3,"every":"10m0s"}`, `{"runs":1001,"every":"0s"}`, `{"runs":2,"every":"-1s"}`, `{"runs":1e3,"every":""}`, `[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		must(t)(os.WriteFile(filepath.Join(dir, runsFile), b, 0o600))
		if s, err := ReadSeries(dir); err == nil && (s.Runs < 1 || s.Runs > MaxRuns || s.Every < 0) {
			t.Errorf("%q: %+v", b, s)
		}
		if runs, err := Runs(dir); err == nil {
			t.Errorf("%q: a series without runs has %v", b, runs)
		}
	})
}
