package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/store"
)

// patience exceeds the duration of anything here that is not stuck, on a machine that also runs all other tests.
const patience = 90 * time.Second

func needLab(t *testing.T) {
	t.Helper()
	if err := labErr(); err != nil {
		t.Skipf("no lab: %v", err)
	}
}

type process struct {
	*exec.Cmd
	mark           string
	stdout, stderr bytes.Buffer
}

func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{mark: "WEIR_TEST_MARK=" + t.TempDir()}
	p.Cmd = weir(p.mark, args...)
	p.Env = append(p.Env, env...)
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // normally it has already ended
	return p
}

// status waits until p and everything that it started are gone, and returns the exit status, or 128
// plus the signal that ended p.
func (p *process) status(t *testing.T) int {
	t.Helper()
	return p.statusWithin(t, patience)
}

func (p *process) statusWithin(t *testing.T, limit time.Duration) int {
	t.Helper()
	late := time.AfterFunc(limit, func() { _ = p.Process.Kill() })
	err := p.Wait()
	if !late.Stop() {
		t.Errorf("did not end within %v", limit)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	eventually(t, "nothing is left", func() bool { return len(withEnv(p.mark)) == 0 })
	if ws, ok := p.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.ProcessState.ExitCode()
}

// eventually waits for a condition that no event announces.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	within(t, patience, what, ok)
}

func within(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain until %s", limit, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func notEmpty(file string) func() bool {
	return func() bool {
		info, err := os.Stat(file)
		return err == nil && info.Size() > 0
	}
}

// inner returns the process in the lab's namespaces that p waits for. Before it, the Go runtime
// starts another one to probe the kernel's features.
func (p *process) inner(t *testing.T) int {
	t.Helper()
	var pid int
	eventually(t, "there is a second process", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.Process.Pid))
		for _, f := range threads {
			b, _ := os.ReadFile(f) // the thread may be gone
			for _, word := range strings.Fields(string(b)) {
				cmdline, _ := os.ReadFile("/proc/" + word + "/cmdline")
				if !bytes.Contains(cmdline, []byte("\x00sweep\x00")) { // only root starts this one
					pid, _ = strconv.Atoi(word)
				}
			}
		}
		return pid > 0
	})
	return pid
}

func long(dir string) []string {
	return []string{"run", "-n", "host", "-p", "udp-rr", "--blocks", "5000", "--duration", "10ms", "--warmup", "0s", "-o", dir}
}

// Each signal that ends a run gives status 4, keeps the results, and prints how to continue.
func TestInterrupted(t *testing.T) {
	needLab(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "out")
			p := start(t, nil, long(dir)...)
			eventually(t, "a trial is recorded", notEmpty(filepath.Join(dir, "results.jsonl")))
			if err := p.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if got := p.status(t); got != 4 {
				t.Errorf("status %d, want 4", got)
			}
			for _, want := range []string{"weir: interrupted by signal " + strconv.Itoa(int(sig)), "continue with: weir run --resume " + dir} {
				if !strings.Contains(p.stderr.String(), want) {
					t.Errorf("stderr lacks %q:\n%s", want, &p.stderr)
				}
			}
			if c, err := store.Read(dir); err != nil || len(c.Problems) > 0 || len(c.Results) == 0 {
				t.Errorf("%d results, problems %v, %v", len(c.Results), c.Problems, err)
			}
		})
	}
}

// No moment is too early for a signal, not even between the start of the second process and its
// signal handlers.
func TestInterruptedAtTheStart(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	for i := range 30 {
		sig := []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}[i%3]
		p := start(t, nil, long(filepath.Join(t.TempDir(), "out"))...)
		time.Sleep(time.Duration(i) * time.Millisecond) // the moment is what the test varies
		if err := p.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		// Before main runs, a signal ends weir as it ends any program.
		if got := p.status(t); got != 4 && got != 128+int(sig) {
			t.Errorf("%v after %d ms: status %d, want 4\n%s", sig, i, got, &p.stderr)
		}
	}
}

// A second signal ends weir without waiting for a program that ignores the first.
func TestInterruptedTwice(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	tmp := t.TempDir()
	hung := filepath.Join(tmp, "hung")
	program(t, filepath.Join(tmp, "bin", "iperf3"), `trap '' TERM INT HUP
case "$1" in --version) echo 'iperf 3.12'; exit;; esac
echo here > `+hung+`
while :; do sleep 1000; done
`)
	p := start(t, []string{"PATH=" + filepath.Join(tmp, "bin") + ":" + os.Getenv("PATH")},
		"run", "-n", "host", "-p", "iperf3-tcp", "--blocks", "1", "-o", filepath.Join(tmp, "out"))
	eventually(t, "the program hangs", notEmpty(hung))
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} { // two equal pending signals can merge into one
		if err := p.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.status(t); got != 4 {
		t.Errorf("status %d, want 4", got)
	}
	if strings.Contains(p.stderr.String(), "are kept") {
		t.Errorf("it ended in an orderly way, so the second signal had no effect:\n%s", &p.stderr)
	}
}

func program(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o777); err != nil {
		t.Fatal(err)
	}
}

// If the process in the namespaces is killed, the first process reports it, and everything they
// started is gone.
func TestInnerKilled(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	p := start(t, nil, long(dir)...)
	eventually(t, "a trial is recorded", notEmpty(filepath.Join(dir, "results.jsonl")))
	inner := p.inner(t)
	if err := syscall.Kill(inner, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := p.status(t); got != 3 || !strings.Contains(p.stderr.String(), "lab process killed by signal 9 (killed)") {
		t.Errorf("status %d, want 3\n%s", got, &p.stderr)
	}
	if c, err := store.Read(dir); err != nil || len(c.Results) == 0 {
		t.Errorf("%d results, %v", len(c.Results), err)
	}
}
