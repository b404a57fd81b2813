package facts

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A directory is trusted if nobody else can change what its name leads to.
func TestTrusted(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	me := strconv.Itoa(os.Getuid())
	if err := errors.Join(os.MkdirAll(at("own/bin"), 0o755), os.MkdirAll(at("open/bin"), 0o755), os.MkdirAll(at("sticky/bin"), 0o755), os.Mkdir(at("anybody"), 0o755),
		os.Chmod(at("open"), 0o777), os.Chmod(at("sticky"), 0o777|os.ModeSticky), os.Chmod(at("anybody"), 0o777|os.ModeSticky),
		os.Symlink(at("own/bin"), at("link")), os.Symlink(at("own/bin"), at("open/link")), os.Symlink(at("open/bin"), at("own/link")),
		os.Symlink(at("open/link"), at("own/chain")), os.Symlink("../link", at("own/back")), os.Symlink("loop", at("own/loop"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"own/bin": true, "link": true, "sticky/bin": true, "own/back": true,
		"open/bin": false, "anybody": false, "open/link": false, "own/link": false, "own/chain": false, "own/loop": false, "none": false,
	} {
		if got := trusted(at(name), me, "0"); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if trusted(at("own/bin"), "4242") || trusted("own/bin", me, "0") || trusted(".", me, "0") {
		t.Error("another user's directory, or a relative one, is trusted")
	}
}

// Root runs no program that another user owns, wherever that is and however it is reached.
func TestForeignProgram(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a file away")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SUDO_UID", "")
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	at := func(name string) string { return filepath.Join(dir, name) }
	script := []byte("#!/bin/sh\ntouch " + at("ran") + "\n")
	if err := errors.Join(os.Mkdir(at("bin"), 0o755), os.Mkdir(at("home"), 0o755), os.WriteFile(at("bin/weir-test-owned"), script, 0o755),
		os.WriteFile(at("bin/weir-test-mine"), script, 0o755), os.WriteFile(at("home/weir-test-linked"), script, 0o755), os.Symlink(at("home/weir-test-linked"), at("bin/weir-test-linked")),
		os.Chown(at("bin/weir-test-owned"), 1234, 1234), os.Chown(at("home"), 1234, 1234)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"weir-test-owned", "weir-test-linked"} {
		for _, name := range []string{name, at("bin/" + name)} {
			_, _, err := (ToolInfo{Program: name, VersionArgs: []string{"-v"}, Version: "x"}).Find(t.Context())
			if err == nil || !strings.Contains(err.Error(), "root does not run it") {
				t.Errorf("%s: %v", name, err)
			}
			if path := Find(name); path != "" {
				t.Errorf("%s: found %s", name, path)
			}
			if _, err := Command(name); err == nil {
				t.Errorf("%s can be run", name)
			}
		}
	}
	if _, err := os.Stat(at("ran")); err == nil {
		t.Error("the program of another user ran as root")
	}
	if Find("weir-test-mine") == "" {
		t.Error("root's own program is not found")
	}
	t.Setenv("SUDO_UID", "1234")
	if Find("weir-test-owned") == "" {
		t.Error("the program of the user who called sudo is not found")
	}
}

// Root takes no program from a directory of another user, wherever it is listed.
func TestOwnPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SUDO_UID", "")
	mine, other := filepath.Join(dir, "mine"), filepath.Join(dir, "other")
	program := filepath.Join(other, "weir-test-planted")
	if err := errors.Join(os.Mkdir(mine, 0o755), os.Mkdir(other, 0o755), os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{mine, other, ".", filepath.Join(dir, "none")}, ":")
	if os.Getuid() != 0 {
		if kept, foreign := OwnPath(path); kept != path || foreign != nil {
			t.Errorf("kept %s, left out %v: only root needs that", kept, foreign)
		}
		return
	}
	if err := os.Chown(other, 1234, 1234); err != nil {
		t.Fatal(err)
	}
	if kept, foreign := OwnPath(path); kept != mine || !slices.Equal(foreign, []string{other, "."}) {
		t.Errorf("kept %s, left out %v", kept, foreign)
	}
	t.Setenv("CNI_PATH", other)
	if got := Find(filepath.Base(program)); got != "" {
		t.Errorf("found %s", got)
	}
	t.Setenv("SUDO_UID", "1234")
	if kept, _ := OwnPath(mine + ":" + other); kept != mine+":"+other {
		t.Errorf("kept %s: the user who called sudo is trusted", kept)
	}
}
