package sample

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"syscall"
	"testing"
	"testing/fstest"
)

// An agent's own processes are its descendants, whatever else its /proc shows.
func TestOwnProcesses(t *testing.T) {
	stat := func(pid, ppid, user, system, childUser int) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, "%d (x) S %d 1 1 0 -1 0 0 0 0 0 %d %d %d 0 20 0 8 0 17 0 0\n", pid, ppid, user, system, childUser)}
	}
	root := fstest.MapFS{
		"proc/1/stat":    stat(1, 0, 5000, 5000, 0),
		"proc/90/stat":   stat(90, 1, 700, 0, 0), // sshd
		"proc/100/stat":  stat(100, 90, 100, 50, 1000),
		"proc/101/stat":  stat(101, 100, 200, 0, 0),
		"proc/102/stat":  stat(102, 101, 0, 300, 0),
		"proc/500/stat":  stat(500, 1, 9000, 0, 0), // somebody else's
		"proc/self/stat": stat(100, 90, 100, 50, 1000),
	}
	c, err := ownProcesses(root)
	if want := (Counters{"proc.user": 13, "proc.system": 3.5}); err != nil || !maps.Equal(c, want) {
		t.Errorf("%v, %v; want %v", c, err, want)
	}
	others, err := otherPrograms(root)
	if want := (Counters{"other.1 x": 100, "other.500 x": 90}); err != nil || !maps.Equal(others, want) {
		t.Errorf("others %v, %v; want %v", others, err, want)
	}
	c, err = ownProcesses(hiding{root, "proc/500/stat"})
	if err != nil || c["proc.user"] != 13 {
		t.Errorf("others' processes are hidden: %v, %v", c, err)
	}
	for name, file := range map[string]string{"no process of its own": "proc/self/stat", "a hidden one": "proc/100/stat"} {
		broken := maps.Clone(root)
		delete(broken, file)
		if name == "a hidden one" {
			delete(broken, "proc/101/stat")
			delete(broken, "proc/102/stat")
		}
		if c, err := ownProcesses(broken); err == nil {
			t.Errorf("%s: %v", name, c)
		}
	}
}

// hiding forbids a file, as hidepid=1 does.
type hiding struct {
	fstest.MapFS
	file string
}

func (h hiding) Open(name string) (fs.File, error) {
	if name == h.file {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EPERM}
	}
	return h.MapFS.Open(name)
}

func (h hiding) ReadFile(name string) ([]byte, error) {
	if name == h.file {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EPERM}
	}
	return h.MapFS.ReadFile(name)
}

func TestOwnProcessesOfThisMachine(t *testing.T) {
	read := func() float64 {
		c, err := ownProcesses(os.DirFS("/"))
		if err != nil {
			t.Fatal(err)
		}
		return c["proc.user"] + c["proc.system"]
	}
	for from := read(); read() < from+0.02; {
	}
}
