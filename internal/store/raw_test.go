package store

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func rawOf(t *testing.T, d *RawDir, trial string) string {
	t.Helper()
	b, err := d.Read(trial, "client.out")
	if err != nil {
		t.Errorf("%s: %v", trial, err)
	}
	return string(b)
}

// Raw files read alike whether a trial ran alone, as all did in older runs, or in a round. A round is
// one file.
func TestRounds(t *testing.T) {
	d, dir := create(t)
	must(t)(d.Raw("b001-alone", "client.out", []byte("alone")))
	for _, round := range [][]string{{"b001-a", "b001-b"}, {"b001-c", "b001-d"}} {
		r, err := d.Round(round[0])
		must(t)(err)
		for _, trial := range round {
			must(t)(r.Raw(trial, "client.out", []byte("of "+trial)))
			must(t)(r.Raw(trial, InsideFile, []byte("{}")))
		}
		must(t)(r.Close())
	}
	empty, err := d.Round("b001-nothing")
	must(t)(err)
	must(t)(empty.Close())

	entries, err := os.ReadDir(filepath.Join(dir, "raw"))
	must(t)(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"b001-a.zip", "b001-alone", "b001-c.zip"}; !slices.Equal(names, want) {
		t.Errorf("raw holds %v, want %v", names, want)
	}
	raw := OpenRaw(dir)
	for trial, want := range map[string]string{"b001-alone": "alone", "b001-b": "of b001-b", "b001-d": "of b001-d", "b001-a": "of b001-a", "b002-a": ""} {
		if got := rawOf(t, raw, trial); got != want {
			t.Errorf("%s: %q, want %q", trial, got, want)
		}
	}
	if b, err := raw.Read("b001-a", "server.out"); err != nil || b != nil {
		t.Errorf("a file that the trial does not have: %q, %v", b, err)
	}
	if b, err := raw.Read("b001-a", InsideFile); err != nil || string(b) != "{}" {
		t.Errorf("%q, %v", b, err)
	}
	// A trial's name comes from a results file, which can be anyone's.
	for _, bad := range []string{"", "..", "../raw/b001-a", "a/b", ".hidden"} {
		if b, err := raw.Read(bad, "client.out"); err == nil {
			t.Errorf("trial %q: %q", bad, b)
		}
		if b, err := raw.Read("b001-a", bad); err == nil {
			t.Errorf("file %q: %q", bad, b)
		}
		if _, err := d.Round(bad); err == nil {
			t.Errorf("Round %q: no error", bad)
		}
		r, err := d.Round("b001-e")
		must(t)(err)
		if err := r.Raw(bad, "f", nil); err == nil {
			t.Errorf("trial %q of a round: no error", bad)
		}
	}
	must(t)(raw.Close())
}

// A round that runs again keeps the bytes of trials that an earlier attempt recorded, and replaces the
// others.
func TestRoundAgain(t *testing.T) {
	d, dir := create(t)
	for n, attempt := range []string{"first", "second"} {
		r, err := d.Round("b001-a")
		must(t)(err)
		for _, trial := range []string{"b001-a", "b001-b"}[n:] {
			must(t)(r.Raw(trial, "client.out", []byte(attempt)))
		}
		must(t)(r.Close())
	}
	raw := OpenRaw(dir)
	if a, b := rawOf(t, raw, "b001-a"), rawOf(t, raw, "b001-b"); a != "first" || b != "second" {
		t.Errorf("%q and %q", a, b)
	}
	must(t)(raw.Close())
}

// A run killed while it writes a round leaves the old file or the new one. A file that is damaged
// otherwise is reported once, and does not hide the others.
func TestDamagedRound(t *testing.T) {
	d, dir := create(t)
	for _, first := range []string{"b001-a", "b002-a"} {
		r, err := d.Round(first)
		must(t)(err)
		must(t)(r.Raw(first, "client.out", []byte(first)))
		must(t)(r.Close())
	}
	file := filepath.Join(dir, "raw", "b001-a.zip")
	whole, err := os.ReadFile(file)
	must(t)(err)
	must(t)(os.WriteFile(filepath.Join(dir, "raw", ".b002-a.zip.tmp"), whole[:len(whole)/2], 0o666))
	must(t)(os.WriteFile(file, whole[:len(whole)/2], 0o666))
	raw := OpenRaw(dir)
	if _, err := raw.Read("b001-a", "client.out"); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v", err)
	}
	if got := rawOf(t, raw, "b002-a"); got != "b002-a" {
		t.Errorf("%q", got)
	}
	if got := rawOf(t, raw, "b001-a"); got != "" {
		t.Errorf("%q", got)
	}
	must(t)(raw.Close())
	r, err := d.Round("b001-a")
	must(t)(err)
	must(t)(r.Raw("b001-a", "client.out", nil))
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("error %v", err)
	}
}

// The bytes of a round's file depend only on what it holds.
func TestRoundIsRepeatable(t *testing.T) {
	var files [2][]byte
	for i := range files {
		d, dir := create(t)
		r, err := d.Round("b001-a")
		must(t)(err)
		must(t)(r.Raw("b001-a", "client.out", []byte("x")))
		must(t)(r.Close())
		files[i], err = os.ReadFile(filepath.Join(dir, "raw", "b001-a.zip"))
		must(t)(err)
	}
	if !slices.Equal(files[0], files[1]) {
		t.Error("two files of the same round differ")
	}
}
