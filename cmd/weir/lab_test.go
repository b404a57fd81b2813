package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

type bench struct{ env []string }

func newBench(t *testing.T) bench {
	t.Helper()
	needLab(t)
	return bench{[]string{"XDG_RUNTIME_DIR=" + t.TempDir(), "WEIR_TEST_BENCH=" + t.TempDir()}}
}

func (b bench) lab(t *testing.T, args ...string) *process {
	t.Helper()
	return start(t, b.env, append([]string{"lab"}, args...)...)
}

func (b bench) left() []string { return withEnv(b.env[1]) }

func (p *process) end(t *testing.T, want int) {
	t.Helper()
	late := time.AfterFunc(patience, func() { _ = p.Process.Kill() })
	defer late.Stop()
	_ = p.Wait() // the status is checked below
	if got := p.ProcessState.ExitCode(); got != want {
		t.Errorf("weir %s: status %d, want %d\n%s", strings.Join(p.Args[1:], " "), got, want, &p.stderr)
	}
}

func TestKeeperKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	b := newBench(t)
	t.Parallel()
	b.lab(t, "up", "-n", "bridge").end(t, 0)
	if len(b.left()) == 0 {
		t.Fatal("no topology is up")
	}
	for _, p := range b.left() {
		pid, _, _ := strings.Cut(p, ":")
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended with the one before
		}
	}
	eventually(t, "nothing is left", func() bool { return len(b.left()) == 0 })
	stale, _ := filepath.Glob(filepath.Join(strings.TrimPrefix(b.env[0], "XDG_RUNTIME_DIR="), "weir", "*.sock"))
	if len(stale) != 1 {
		t.Fatalf("stale sockets %v, want one", stale)
	}
	b.lab(t, "exec", "h1", "true").end(t, 3)
	b.lab(t, "down").end(t, 3)
	b.lab(t, "up", "-n", "routed").end(t, 0)
	b.lab(t, "exec", "h2", "true").end(t, 0)
	b.lab(t, "down").end(t, 0)
	eventually(t, "nothing is left", func() bool { return len(b.left()) == 0 })
}

// If several processes start one name at the same time, one succeeds and the others report that.
func TestUpTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	b := newBench(t)
	t.Parallel()
	var ups []*process
	for _, n := range []string{"bridge", "routed", "vxlan-overlay", "macvlan"} {
		ups = append(ups, b.lab(t, "up", "-n", n))
	}
	status := map[int]int{}
	for _, p := range ups {
		_ = p.Wait() // the status is checked below
		status[p.ProcessState.ExitCode()]++
	}
	if status[0] != 1 || status[2] != len(ups)-1 {
		t.Errorf("exit statuses %v, want one 0 and %d times 2", status, len(ups)-1)
	}
	b.lab(t, "down").end(t, 0)
	eventually(t, "nothing is left", func() bool { return len(b.left()) == 0 })
}

// A command ends with the `weir lab exec` that started it, however that ends.
func TestExecKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	b := newBench(t)
	t.Parallel()
	b.lab(t, "up", "-n", "bridge").end(t, 0)
	keeper := len(b.left())
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM} {
		here := filepath.Join(t.TempDir(), "here")
		p := b.lab(t, "exec", "h1p1", "--", "sh", "-c", "echo here > "+here+"; exec sleep 1000")
		eventually(t, "the command runs", notEmpty(here))
		if err := p.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		want := 4
		if sig == syscall.SIGKILL {
			want = -1
		}
		p.end(t, want)
		eventually(t, "the command has ended", func() bool { return len(b.left()) <= keeper })
	}
	b.lab(t, "exec", "h1p1", "true").end(t, 0)
	b.lab(t, "down").end(t, 0)
	eventually(t, "nothing is left", func() bool { return len(b.left()) == 0 })
}

// An interrupted `weir lab up` leaves either no topology or a complete one.
func TestUpInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	b := newBench(t)
	t.Parallel()
	for ms := 0; ms < 60; ms += 4 {
		p := b.lab(t, "up", "-n", "vxlan-overlay", "--hosts", "6", "--pods", "3")
		time.Sleep(time.Duration(ms) * time.Millisecond) // the moment is what the test varies
		if err := p.Process.Signal(syscall.SIGTERM); err != nil && !strings.Contains(err.Error(), os.ErrProcessDone.Error()) {
			t.Fatal(err)
		}
		late := time.AfterFunc(patience, func() { _ = p.Process.Kill() })
		_ = p.Wait() // the status is checked below
		if !late.Stop() {
			t.Fatalf("after %d ms: did not end\n%s", ms, &p.stderr)
		}
		if p.ProcessState.ExitCode() == 0 { // the topology was up before the signal
			b.lab(t, "exec", "h6p3", "true").end(t, 0)
			b.lab(t, "down").end(t, 0)
		} else if got := p.ProcessState.ExitCode(); got != 4 && got != -1 { // -1: before main ran
			t.Errorf("after %d ms: status %d\n%s", ms, got, &p.stderr)
		}
		eventually(t, "nothing is left", func() bool { return len(b.left()) == 0 })
	}
}
