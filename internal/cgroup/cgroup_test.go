package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func tree(t *testing.T, dirs ...string) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func left(t *testing.T, root string) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(root, path); err == nil && d.IsDir() && rel != "." {
			dirs = append(dirs, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// The group and its descendants are removed from every hierarchy; other groups stay.
func TestRemove(t *testing.T) {
	for _, c := range []struct{ dirs, want []string }{
		{[]string{"weir-a/x/y", "weir-a/z", "weir-b"}, []string{"weir-b"}},
		{[]string{"cpu/weir-a/x", "memory/weir-a", "memory/weir-b", "cpu/docker/weir-a"}, []string{"cpu", "cpu/docker", "cpu/docker/weir-a", "memory", "memory/weir-b"}},
		{[]string{"cpu"}, []string{"cpu"}},
	} {
		root := tree(t, c.dirs...)
		if err := remove(root, "weir-a"); err != nil {
			t.Error(err)
		}
		if got := left(t, root); !slices.Equal(got, c.want) {
			t.Errorf("of %v are left %v, want %v", c.dirs, got, c.want)
		}
	}
}

// A group that contains a process stays, and the error names it.
func TestRemoveBusy(t *testing.T) {
	root := tree(t, "weir-a/x", "weir-a/y")
	if err := os.WriteFile(filepath.Join(root, "weir-a/x/file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := remove(root, "weir-a")
	if err == nil || !strings.Contains(err.Error(), "remove control group "+filepath.Join(root, "weir-a/x")+": directory not empty") {
		t.Errorf("error %v", err)
	}
	if got, want := left(t, root), []string{"weir-a", "weir-a/x"}; !slices.Equal(got, want) {
		t.Errorf("%v are left, want %v", got, want)
	}
}

// Nothing is removed while a process that knows the name runs.
func TestAlive(t *testing.T) {
	name := "weir-" + strings.ToLower(t.Name())
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{env + "=" + name}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := alive(name); err == nil || !strings.Contains(err.Error(), "/proc/"+strconv.Itoa(cmd.Process.Pid)) {
		t.Errorf("error %v", err)
	}
	if err := alive(name + "x"); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if err := alive(name); err != nil {
		t.Error(err)
	}
}

func TestSweepRefuses(t *testing.T) {
	for _, name := range []string{"", "docker", "weir-a/..", "../weir-a"} {
		if err := Sweep(name); err == nil || !strings.Contains(err.Error(), "internal command") {
			t.Errorf("%q: error %v", name, err)
		}
	}
}
