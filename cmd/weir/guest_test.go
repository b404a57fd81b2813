package main

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// SIGKILL leaves no virtual machine behind, at any moment of its life.
func TestGuestKilled(t *testing.T) {
	if err := guestErr(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	p := start(t, nil, "run", "--in-vm", "-n", "host", "-p", "udp-rr", "--blocks", "1", "-o", filepath.Join(t.TempDir(), "out"))
	eventually(t, "there is a virtual machine", func() bool {
		return slices.ContainsFunc(withEnv(p.mark), func(s string) bool { return strings.Contains(s, "qemu-system-") })
	})
	if err := p.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := p.status(t); got != 128+9 { // waits until nothing is left
		t.Errorf("status %d\n%s", got, &p.stderr)
	}
}
