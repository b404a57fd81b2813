package store

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A directory of somebody else takes memory in proportion to its bytes, and what is too large is named and left out.
func TestBoundedFiles(t *testing.T) {
	const line = `{"format":2,"trial":"b001-host-udp-rr","block":1,"status":"ok","start":"2026-01-01T00:00:00Z","elapsed":1,"asked":{"network":"host"}`
	empty := "[" + strings.Repeat("{},", 5<<20) + "{}]"
	long := strings.Repeat("R", 3<<20)
	for file, c := range map[string]struct{ text, problem string }{
		"probes.json":     {empty, "more than 100000 values"},
		"machines.json":   {empty, "more than 100000 values"},
		"others.json":     {empty + empty, "bytes, more than 16777216"},
		"imported.json":   {empty, "more than 100000 values"},
		"hosts/a.json":    {empty, "more than 100000 values"},
		"results.jsonl":   {strings.Replace(line, `"ok"`, `"`+long+`"`, 1) + "}\n", "a name of more than 4096 bytes"},
		"results.jsonl 2": {line + `,"reason":"` + long + `"}` + "\n", "or a text of more than 65536"},
		"results.jsonl 3": {line + `,"values":[{"name":"` + long + `","unit":"s","value":1}]}` + "\n", "a value's name or unit"},
		"profiles.jsonl":  {line + `,"reason":"` + long + `"}` + "\n", "or a text of more than 65536"},
		"study.yaml":      {empty + empty, "bytes, more than 16777216"},
	} {
		dir := t.TempDir()
		name, _, _ := strings.Cut(file, " ")
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "hosts"), 0o700), os.WriteFile(filepath.Join(dir, "results.jsonl"), nil, 0o600),
			os.WriteFile(filepath.Join(dir, name), []byte(c.text), 0o600)); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		r, err := Read(dir)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err != nil || took > 64<<20 || len(r.Results)+len(r.Profiles)+len(r.Hosts)+len(r.Probes)+len(r.Machines)+len(r.Others)+len(r.Imported) > 0 {
			t.Errorf("%s: %v, %d MiB for %d", file, err, took>>20, len(c.text)>>20)
		}
		if all := errors.Join(r.Problems...); all == nil || !strings.Contains(all.Error(), c.problem) || len(all.Error()) > 1000 {
			t.Errorf("%s: problems %.1000v, want %q", file, all, c.problem)
		}
	}
}

// The facts of many machines are bounded together.
func TestBoundedHosts(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "hosts"), 0o700), os.WriteFile(filepath.Join(dir, "results.jsonl"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		if err := os.WriteFile(filepath.Join(dir, "hosts", name+".json"), []byte(`"`+strings.Repeat("x", 5<<20)+`"`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Read(dir)
	if err != nil || len(r.Hosts) != 3 || !strings.Contains(errors.Join(r.Problems...).Error(), "the facts of all machines have more than 16777216 bytes") {
		t.Errorf("%d hosts, %v, %v", len(r.Hosts), err, r.Problems)
	}
}
