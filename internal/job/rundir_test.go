package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/study"
)

// A run that is stopped while it writes its first files leaves no study, by which --resume would take them for whole.
func TestStudyIsLast(t *testing.T) {
	s, err := study.Load([]byte("networks: [host]\nprobes: [udp-rr]\n"), "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for blocked, want := range map[string]bool{"begun.json": false, "probes.json": false, "plans": true} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, blocked, "a"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "results.jsonl"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		r := runner{RunOptions{Dir: dir, Study: s.Resolve()}}
		d, err := r.open()
		if err == nil {
			d.Close()
		}
		if _, missing := os.Stat(filepath.Join(dir, "study.yaml")); (err == nil) != want || (missing == nil) != want {
			t.Errorf("%s cannot be written: %v; the study: %v", blocked, err, missing)
		}
	}
}

// Searches that begin in one second get a directory each.
func TestMakeDir(t *testing.T) {
	t.Chdir(t.TempDir())
	made := map[string]bool{}
	for range 3 {
		dir, err := MakeDir("bisect")
		if err != nil || made[dir] {
			t.Fatalf("%s: %v, made before: %v", dir, err, made[dir])
		}
		made[dir] = true
	}
}

func TestAsFile(t *testing.T) {
	for name, want := range map[string]string{
		"quick": "quick", "a b": "a_b", "../../../escaped/here": "_.._.._escaped_here", "..": "study", "": "study", "/etc": "_etc", "-rf": "rf", "\x1b[31m": "__31m",
		strings.Repeat("x", 300): strings.Repeat("x", 64),
	} {
		if got := asFile(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
