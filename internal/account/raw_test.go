package account

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

// Evidence and settings come from directories and from rounds, also for trials that failed. An older run
// has none, which is no problem; a damaged file is one.
func TestRawFiles(t *testing.T) {
	dir := t.TempDir()
	put := func(trial, name, text string) {
		t.Helper()
		file := filepath.Join(dir, "raw", trial, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	settings := `{"format":1,"places":{"h1":{"devices":{"eth0":{"mtu":1500}}}}}`
	naming := func(trial string) string {
		return fmt.Sprintf(`{"format":1,"protocol":"udp","settings":%q,"path":[{"in":"h1","dev":"eth0"}]}`, trial)
	}
	put("a", store.EvidenceFile, naming("a"))
	put("a", store.SettingsFile, settings)
	put("failed", store.EvidenceFile, naming("a"))
	put("damaged", store.EvidenceFile, `{"format":1`)
	put("later", store.EvidenceFile, `{"format":99}`)
	put("alone", store.EvidenceFile, naming("gone"))
	put("b", store.EvidenceFile, naming("b"))
	put("b", store.SettingsFile, "x")
	put("c", store.EvidenceFile, naming("b"))
	f, err := os.Create(filepath.Join(dir, "raw", "r1.zip"))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, text := range map[string]string{"r1/evidence.json": naming("r2"), "r2/evidence.json": naming("r2"), "r2/settings.json": settings} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	rep := Contents{Dir: dir}
	for _, name := range []string{"a", "failed", "damaged", "later", "alone", "old", "b", "c", "r1", "r2"} {
		rep.Results = append(rep.Results, record.Result{Trial: name, Status: map[bool]record.Status{true: record.OK, false: record.Failed}[name != "failed"]})
	}
	rep.readRaw(true)
	for name, want := range map[string][2]bool{"a": {true, true}, "failed": {true, true}, "damaged": {}, "later": {}, "alone": {true, false}, "old": {},
		"b": {true, false}, "c": {true, false}, "r1": {true, true}, "r2": {true, true}} {
		if got := [2]bool{rep.Evidence[name] != nil, rep.Settings[name] != nil}; got != want {
			t.Errorf("%s has evidence and settings: %v, want %v", name, got, want)
		}
	}
	if rep.Settings["a"] != rep.Settings["failed"] {
		t.Error("two trials of one condition have settings of their own")
	}
	problems := lang.Join(rep.Problems, "\n").String()
	if len(rep.Problems) != 3 || !strings.Contains(problems, "evidence.json of damaged") || !strings.Contains(problems, "evidence.json of later: evidence has format 99") || !strings.Contains(problems, "settings.json of b") {
		t.Errorf("problems:\n%s", problems)
	}
}

// BenchmarkRawFiles loads the evidence of 5000 trials.
func BenchmarkRawFiles(b *testing.B) {
	dir := b.TempDir()
	rep := Contents{Dir: dir}
	hop := `{"in":"h1","dev":"eth0","out":true,"data":{"packets":12345,"bytes":123456789},"back":{"packets":12345,"bytes":123456},"queue":{"kind":"noqueue","packets":0,"bytes":0}}`
	counters := `{"ip.InReceives":12345`
	for i := range 30 {
		counters += fmt.Sprintf(`,"netstat.TCPSomething%d":123456`, i)
	}
	counters += "}"
	text := fmt.Sprintf(`{"format":1,"protocol":"udp","settings":"t0","path":[%s],"nodes":{"h1":%s,"h2":%[2]s,"h1p1":%[2]s,"h2p1":%[2]s}}`, strings.Repeat(hop+",", 7)+hop, counters)
	for i := range 5000 {
		name := fmt.Sprintf("t%d", i)
		if err := os.MkdirAll(filepath.Join(dir, "raw", name), 0o777); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "raw", name, store.EvidenceFile), []byte(text), 0o666); err != nil {
			b.Fatal(err)
		}
		rep.Results = append(rep.Results, record.Result{Trial: name})
	}
	for b.Loop() {
		rep.readRaw(true)
	}
}
