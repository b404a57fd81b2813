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
		os.Symlink(at("own/bin"), at("link")), os.Symlink(at("own/bin"), at("open/link")), os.Symlink(at("open/bin"), at("own/link"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"own/bin": true, "link": true, "sticky/bin": true,
		"open/bin": false, "anybody": false, "open/link": false, "own/link": false, "none": false,
	} {
		if got := trusted(at(name), me, "0"); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if trusted(at("own/bin"), "4242") || trusted("own/bin", me, "0") || trusted(".", me, "0") {
		t.Error("another user's directory, or a relative one, is trusted")
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
