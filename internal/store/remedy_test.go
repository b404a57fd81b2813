package store

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// What to do depends on why a file could not be written.
func TestRemedy(t *testing.T) {
	for errno, want := range map[unix.Errno]string{
		unix.ENOSPC: "make room", unix.EDQUOT: "make room", unix.EIO: "check the device below it", unix.EFBIG: "raise the limit of a file's size (ulimit -f)",
	} {
		if got := Remedy(fmt.Errorf("write: %w", errno)); got != want {
			t.Errorf("%v: %q, want %q", errno, got, want)
		}
	}
}
