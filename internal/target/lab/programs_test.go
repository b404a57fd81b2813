package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/topo"
)

// A place prefers the programs of the topology's directory, whichever path asks for them, and finds all others. Without
// the user's permission, or without the directory, nothing is opened.
func TestPrograms(t *testing.T) {
	nstest.Need(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "true"), []byte("#!/bin/sh\necho own\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	want, err := topo.New(topo.Spec{Hosts: 1})
	if err != nil {
		t.Fatal(err)
	}
	want.Programs = dir
	if _, err := (Target{}).Open(t.Context(), want, ""); err == nil || !strings.Contains(err.Error(), "--allow-commands") {
		t.Errorf("without permission: %v", err)
	}
	gone := want
	gone.Programs = filepath.Join(dir, "gone")
	if _, err := (Target{Commands: true}).Open(t.Context(), gone, ""); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("without the directory: %v", err)
	}
	s, err := Target{Commands: true}.Open(t.Context(), want, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, name := range []string{"true", "/opt/other/bin/true"} {
		var out bytes.Buffer
		if err := s.Nodes["h1"].Run(t.Context(), target.Cmd{Argv: []string{name}, Stdout: &out}); err != nil || !strings.HasPrefix(out.String(), "own\n") {
			t.Errorf("%s prints %q, %v", name, out.String(), err)
		}
	}
	if err := s.Nodes["h1"].Run(t.Context(), target.Cmd{Argv: []string{"false"}}); err == nil {
		t.Error("false, which is not in the directory, succeeds")
	}
}
