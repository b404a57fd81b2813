package packettrace

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { nstest.Main(m, nil) }

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s:\n%s", file, got)
	}
}
