package sample

import (
	"os"
	"testing"
	"testing/fstest"
)

func TestAllProcesses(t *testing.T) {
	stat := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	root := fstest.MapFS{
		// A name can contain spaces, parentheses and a newline.
		"proc/1/stat":    stat("1 (we) ir)\n(x) S 0 1 1 0 -1 4194560 0 0 0 0 150 50 1000 300 20 0 8 0 17 0 0\n"),
		"proc/27/stat":   stat("27 (engine) R 1 1 1 0 -1 4194560 0 0 0 0 7 93 0 0 20 0 8 0 17 0 0\n"),
		"proc/self/stat": stat("nonsense"),
		"proc/stat":      stat("nonsense"),
	}
	c, err := allProcesses(root)
	if err != nil {
		t.Fatal(err)
	}
	if c["proc.user"] != 11.57 || c["proc.system"] != 4.43 {
		t.Errorf("%v, want 11.57 s in user mode and 4.43 s in the kernel", c)
	}

	for name, bad := range map[string]string{"short": "1 (a) S 0 1", "negative": "1 (a) S 0 1 1 0 -1 0 0 0 0 0 -1 0 0 0 20", "empty": ""} {
		c, err := allProcesses(fstest.MapFS{"proc/1/stat": stat(bad)})
		if err == nil || len(c) > 0 {
			t.Errorf("%s: %v, %v; want an error and nothing", name, c, err)
		}
	}
}

// A /proc of this process's namespace shows the CPU time that it uses.
func TestAllProcessesOfThisMachine(t *testing.T) {
	read := func() float64 {
		c, err := allProcesses(os.DirFS("/"))
		if err != nil {
			t.Fatal(err)
		}
		return c["proc.user"] + c["proc.system"]
	}
	for from := read(); read() < from+0.02; {
	}
}
