package job

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weir-bench/weir/internal/lang"
)

// Whoever follows a run sees what its coordinator prints, until the run ends with a status.
func TestFollowRun(t *testing.T) {
	dir := t.TempDir()
	said, ended := filepath.Join(dir, "said"), filepath.Join(dir, "ended")
	f, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read, write := io.Pipe()
	done := make(chan error, 1)
	status := 0
	go func() {
		var err error
		status, err = Follow(t.Context(), write, said, ended)
		write.Close()
		done <- err
	}()
	for _, line := range []string{"block 1\n", "block 2\n"} {
		if _, err := f.WriteString(line); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(line))
		if _, err := io.ReadFull(read, got); err != nil || string(got) != line {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := f.WriteString("weir: why\n"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ended, []byte("3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(read)
	if err := <-done; err != nil || status != 3 {
		t.Errorf("status %d, %v", status, err)
	}
	if err != nil || string(rest) != "weir: why\n" {
		t.Errorf("the rest is %q, %v", rest, err)
	}
	if _, err := Follow(t.Context(), io.Discard, filepath.Join(dir, "none"), ended); err == nil {
		t.Error("followed nothing")
	}
}

// A look that begins again shows what is new.
func TestOnlooker(t *testing.T) {
	l := &onlooker{say: func(lang.Text) {}}
	for _, look := range []struct {
		parts []string
		shown int
	}{{[]string{"a\nb", "b\n"}, 2}, {[]string{"a\n"}, 2}, {[]string{"a\nbb\nc\n", "d"}, 3}} {
		l.part, l.lines = nil, 0
		for _, p := range look.parts {
			if n, err := l.Write([]byte(p)); n != len(p) || err != nil {
				t.Errorf("%q: %d, %v", p, n, err)
			}
		}
		if l.shown != look.shown {
			t.Errorf("%q: %d lines are shown, want %d", look.parts, l.shown, look.shown)
		}
	}
}
