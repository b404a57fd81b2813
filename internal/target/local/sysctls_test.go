package local

import (
	"io/fs"
	"os"
	"testing"
)

// Settings are read whole: a read of fewer bytes than a number has ends some files of /proc/sys
// (kernel/sysctl.c, do_proc_dointvec).
func TestSettingsAreWhole(t *testing.T) {
	const name = "proc/sys/kernel/threads-max"
	want, err := os.ReadFile("/" + name)
	if err != nil {
		t.Skip(err)
	}
	if got, err := fs.ReadFile(Host().FS, name); err != nil || string(got) != string(want) {
		t.Errorf("%s is %q, %v, want %q", name, got, err, want)
	}
}
