package job

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/report/several"
)

// hostile makes a results directory of a run with one trial's files.
func hostile(t *testing.T, study, results, evidence, other []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, b := range map[string][]byte{"study.yaml": study, "results.jsonl": results, "raw/b001-host-udp-rr/evidence.json": evidence,
		"raw/b001-host-udp-rr/inside.jsonl": other, "raw/b001-host-udp-rr/settings.json": other, "probes.json": other, "others.json": other,
		"machines.json": other, "hosts/local.json": other, "tests/verdicts.json": other} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if len(b) > 0 {
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

const someLines = `{"format":1,"trial":"b001-host-udp-rr","block":1,"status":"ok","start":"2026-01-02T03:04:05Z","elapsed":1,"asked":{"network":"host","probe":"udp-rr"},"values":[{"name":"rtt.p50","unit":"s","value":1e-5}]}` + "\n" +
	`{"format":1,"trial":"b001-bridge-udp-rr","block":1,"status":"ok","start":"2026-01-02T03:04:06Z","elapsed":1,"asked":{"network":"bridge","probe":"udp-rr"},"values":[{"name":"rtt.p50","unit":"s","value":2e-5}]}` + "\n"

// A results directory can come from anywhere. Whatever it holds, there is a report, in every format, or an error;
// alone, in an index and pooled.
func FuzzReport(f *testing.F) {
	f.Setenv("XDG_STATE_HOME", os.DevNull)
	study := []byte("name: x\nnetworks: [host, bridge]\nprobes: [udp-rr]\nblocks: 2\nseed: 1\n")
	f.Add(study, []byte(someLines), []byte(`{"format":1,"protocol":"udp","seconds":1,"path":[{"in":"h1","dev":"eth0","out":true,"data":{"packets":10,"bytes":1e300}}],"nodes":{"h1":{"ip.InReceives":-5}},"hosts":{"x":{"softnet.processed":1e308}},"settings":"b001-host-udp-rr"}`), []byte("{}"))
	f.Add(study, []byte(someLines[:len(someLines)-4]), []byte(`{"format":1}`), []byte(`[null]`))
	f.Add([]byte("networks: [host]\nprobes: [tcp-stream]\n"), []byte{}, []byte("null"), []byte(`{"format":1,"places":{"h1":{"devices":null}}}`))
	f.Fuzz(func(t *testing.T, study, results, evidence, other []byte) {
		if len(study)+len(results) == 0 {
			return // no run
		}
		dir := hostile(t, study, results, evidence, other)
		if all, err := findRuns(dir); err != nil || len(all) != 1 {
			t.Errorf("an index of %d runs, %v", len(all), err)
		} else if err := render.HTML(new(bytes.Buffer), several.Index("x", all)); err != nil {
			t.Error(err)
		}
		rep, err := Load(dir, false)
		if err != nil {
			return
		}
		docs := []*doc.Document{section.Report(rep)}
		if pooled, err := Pool([]string{dir, dir}, false); err == nil {
			docs = append(docs, pooled)
		}
		for _, page := range docs {
			for name, write := range map[string]func(io.Writer, *doc.Document) error{"html": render.HTML, "md": render.Markdown, "summary": render.Summary, "ratios": render.Ratios,
				"json": render.JSON, "text": func(w io.Writer, d *doc.Document) error { return render.Text(w, d, 100) }} {
				if err := write(new(bytes.Buffer), page); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	})
}
