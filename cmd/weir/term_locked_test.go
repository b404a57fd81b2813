package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/failure"
)

// A lock that another process does not give back keeps nobody: the report is written before, and a signal ends the wait.
func TestTermLocked(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	needLab(t)
	t.Parallel()
	tmp := t.TempDir()
	state := filepath.Join(tmp, "state")
	held := hold(t, filepath.Join(state, "weir"))
	defer held.Close()
	p := &process{mark: "WEIR_TEST_MARK=" + tmp}
	p.Cmd = weir(p.mark, strings.Fields("run -n host -p udp-rr --blocks 1 --duration 20ms --warmup 0s -o "+tmp+"/out")...)
	p.Env = append(p.Env, "XDG_STATE_HOME="+state)
	p.Stderr = &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the report is written", notEmpty(filepath.Join(tmp, "out", "report.html")))
	begun := time.Now()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// 0, 1: the wait was over, and with it the run.
	if got := p.status(t); !slices.Contains([]int{0, int(failure.Check), int(failure.Interrupted)}, got) || time.Since(begun) > endsWithin {
		t.Errorf("status %d after %v\n%s", got, time.Since(begun), &p.stderr)
	}
}

// The name of a lab that another weir builds, and does not finish, is not waited for without end.
func TestTermAnotherLab(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	needLab(t)
	t.Parallel()
	tmp := t.TempDir()
	program(t, filepath.Join(tmp, "bin", "tc"), strings.ReplaceAll(stuck, "{tmp}", tmp))
	name := "t" + strconv.Itoa(os.Getpid())
	up := []string{"lab", "up", "--name", name, "-n", asks}
	first := startIn(t, tmp, up...)
	eventually(t, "the first one builds", notEmpty(filepath.Join(tmp, "here")))
	other := filepath.Join(tmp, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	second := &process{mark: "WEIR_TEST_MARK=" + other}
	second.Cmd = weir(second.mark, up...)
	second.Env = append(second.Env, "XDG_RUNTIME_DIR="+tmp)
	said, err := os.Create(filepath.Join(other, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	second.Stderr = said
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Process.Kill() }) // normally it has already ended
	got := second.status(t)
	b, err := os.ReadFile(filepath.Join(other, "stderr"))
	if err != nil || got == 0 || !strings.Contains(string(b), "or is coming up") {
		t.Errorf("the second one ended with %d: %s, %v", got, b, err)
	}
	first.terminate(t, tmp)
}

// hold locks a directory that it makes.
func hold(t *testing.T, dir string) *os.File {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(dir)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}
