package image

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// program returns an ELF-64 file (elf(5)) with one program header.
func program(m elf.Machine, typ elf.ProgType) []byte {
	const ehsize, phsize = 64, 56
	b := make([]byte, ehsize+phsize)
	copy(b, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(b[16:], uint16(elf.ET_EXEC))
	le.PutUint16(b[18:], uint16(m))
	le.PutUint32(b[20:], uint32(elf.EV_CURRENT))
	le.PutUint64(b[32:], ehsize) // offset of program headers
	le.PutUint16(b[52:], ehsize)
	le.PutUint16(b[54:], phsize)
	le.PutUint16(b[56:], 1)
	le.PutUint16(b[58:], 64)
	le.PutUint32(b[ehsize:], uint32(typ))
	return b
}

func TestReadProgram(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		body []byte
		arch string
		want string
	}{
		"amd64":   {program(elf.EM_X86_64, elf.PT_LOAD), "amd64", ""},
		"arm64":   {program(elf.EM_AARCH64, elf.PT_LOAD), "arm64", ""},
		"dynamic": {program(elf.EM_X86_64, elf.PT_INTERP), "", "build it with CGO_ENABLED=0"},
		"sparc":   {program(elf.EM_SPARCV9, elf.PT_LOAD), "", "unknown architecture EM_SPARCV9; use a program for amd64 or arm64"},
		"script":  {[]byte("#!/bin/sh\n"), "", "not a program for Linux"},
		"empty":   {nil, "", "not a program for Linux"},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, c.body, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := ReadProgram(file)
		switch {
		case c.want == "" && (err != nil || p.Arch != c.arch || !bytes.Equal(p.Body, c.body)):
			t.Errorf("%s: %s, %d bytes, %v", name, p.Arch, len(p.Body), err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file)):
			t.Errorf("%s: error %v, want %q and the name of the file", name, err, c.want)
		}
	}
	if _, err := ReadProgram(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, endless := range []string{pipe, "/dev/zero"} {
		if _, err := ReadProgram(endless); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", endless, err)
		}
	}
	if p, err := ReadProgram(""); err == nil {
		if self, err := os.ReadFile("/proc/self/exe"); err != nil || !bytes.Equal(p.Body, self) {
			t.Errorf("this program: %d bytes, want %d, %v", len(p.Body), len(self), err)
		}
	} else if !strings.Contains(err.Error(), "weir cannot run by itself") {
		t.Errorf("this program: %v", err)
	}
}

// The archive holds the program and nothing else.
func TestRootFS(t *testing.T) {
	want := program(elf.EM_X86_64, elf.PT_LOAD)
	b, err := Program{"amd64", want}.RootFS()
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(bytes.NewReader(b))
	h, err := r.Next()
	if err != nil || h.Name != "weir" || h.Mode != 0o755 {
		t.Fatalf("%+v, %v", h, err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d, %v", len(got), len(want), err)
	}
	if h, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("there is more: %+v, %v", h, err)
	}
}

func TestName(t *testing.T) {
	for version, want := range map[string]string{
		"devel":                   "weir.local/weir:devel",
		"v1.2.3-4-gabc1234-dirty": "weir.local/weir:v1.2.3-4-gabc1234-dirty",
		"v1.2.3+meta/x":           "weir.local/weir:v1.2.3-meta-x",
		strings.Repeat("a", 200):  "weir.local/weir:" + strings.Repeat("a", 128),
	} {
		if got := Name(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}
