package langtest

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInsert(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(name, []byte("# 注释\n\"b\": \"乙\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"c: \"quoted\"", "a %s × b\n", "bb"} {
		insert(t, name, s)
	}
	got, err := os.ReadFile(name)
	const want = "# 注释\n\"a %s × b\\n\": TODO\n\"b\": \"乙\"\n\"bb\": TODO\n\"c: \\\"quoted\\\"\": TODO\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	if _, keys := read(t, name); len(keys) != 4 || keys[0].Key != "a %s × b\n" || keys[3].Key != "c: \"quoted\"" {
		t.Errorf("read again: %+v", keys)
	}
}
