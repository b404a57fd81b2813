package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// A run that is stopped while it writes its first files leaves no study, by which --resume would take them for whole.
func TestStudyIsLast(t *testing.T) {
	for _, blocked := range []string{"begun.json", "probes.json"} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, blocked), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "results.jsonl"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		r := runner{dir: dir}
		if d, err := r.open(); err == nil {
			t.Errorf("%s: no error", blocked)
			d.Close()
		}
		if _, err := os.Stat(filepath.Join(dir, "study.yaml")); !os.IsNotExist(err) {
			t.Errorf("%s: study.yaml: %v", blocked, err)
		}
	}
}
