package pause

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// needStatic skips a test if this program cannot run in a container.
func needStatic(t *testing.T) {
	t.Helper()
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := static(f); err != nil {
		t.Skip(err)
	}
}

// The image holds the program that made it, and nothing else.
func TestImage(t *testing.T) {
	needStatic(t)
	name := filepath.Join(t.TempDir(), "image.tar")
	if err := Image(name); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := tar.NewReader(f)
	h, err := r.Next()
	if err != nil || h.Name != "weir" || h.Mode != 0o755 {
		t.Fatalf("%+v, %v", h, err)
	}
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := os.ReadFile("/proc/self/exe"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d, %v", len(got), len(want), err)
	}
	if h, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("there is more: %+v, %v", h, err)
	}
}

func TestImageElsewhere(t *testing.T) {
	needStatic(t)
	if err := Image(filepath.Join(t.TempDir(), "no", "image.tar")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// A program with an interpreter (ELF-64, a header of type PT_INTERP) cannot start in a container.
func TestDynamic(t *testing.T) {
	elf := make([]byte, 64+56)
	copy(elf, "\x7fELF\x02\x01\x01")
	elf[16], elf[18], elf[20] = 2, 62, 1 // an executable for x86-64
	elf[32] = 64                         // where program headers are
	elf[52], elf[54], elf[56] = 64, 56, 1
	elf[58] = 64
	for typ, want := range map[byte]string{1: "", 3: "build it with CGO_ENABLED=0"} {
		elf[64] = typ
		err := static(bytes.NewReader(elf))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("type %d: error %v, want %q", typ, err, want)
		}
	}
}
