package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/target"
)

// A program runs in the client's directory and with its environment.
func TestExecAsCalled(t *testing.T) {
	var got target.Cmd
	socket, _ := serve(t, runs(func(_ context.Context, c target.Cmd) error { got = c; return nil }))
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("WEIR_TEST", strings.Repeat("x", 200<<10)) // more than a socket takes at once
	if _, err := Exec(socket, "a", []string{"./ls", "./x"}); err != nil {
		t.Fatal(err)
	}
	if got.Dir != dir || !slices.Equal(got.Argv, []string{filepath.Join(dir, "ls"), "./x"}) || !slices.Contains(got.Env, "WEIR_TEST="+os.Getenv("WEIR_TEST")) {
		t.Errorf("dir %s, argv %v, %d variables", got.Dir, got.Argv, len(got.Env))
	}
}

// A topology that does not answer costs its clients a bounded time, and they read why.
func TestSilent(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"}) // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var all sync.WaitGroup
	defer all.Wait()
	for what, ask := range map[string]func() error{
		"exec":  func() error { _, err := Exec(socket, "a", []string{"true"}); return err },
		"down":  func() error { return Down(t.Context(), socket) },
		"up":    func() error { _, err := claim(t.Context(), socket); return err },
		"serve": func() error { return Serve(t.Context(), socket, nil) },
	} {
		all.Go(func() {
			if err := ask(); !errors.Is(err, ErrSilent) || !strings.Contains(err.Error(), fmt.Sprintf("kill -CONT %d", os.Getpid())) {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
}

// A topology that nobody can reach ends.
func TestSocketGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	socket, ended := filepath.Join(dir, "s"), make(chan error, 1)
	go func() { ended <- Serve(t.Context(), socket, runs(nil)) }()
	deadline := time.Now().Add(patience)
	for {
		if _, err := Nodes(socket); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := wait(t, ended); err != nil {
		t.Error(err)
	}
}

// The name in the directory for temporary files can be taken by someone else.
func TestForeignDirectory(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to give a directory to another user")
	}
	tmp := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", tmp)
	taken := filepath.Join(tmp, "weir-0")
	if err := errors.Join(os.Mkdir(taken, 0o700), os.Chown(taken, 1, 1)); err != nil {
		t.Fatal(err)
	}
	if s, err := Socket("lab"); err != nil || strings.HasPrefix(s, tmp) {
		t.Errorf("%s, %v", s, err)
	}
}
