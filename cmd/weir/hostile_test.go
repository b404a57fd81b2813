package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/terminal"
	"github.com/weir-bench/weir/record"
)

// A run whose directory goes away ends at the next trial.
func TestDirectoryRemoved(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	for name, harm := range map[string]func(dir string) error{
		"removed":   os.RemoveAll,
		"replaced":  func(dir string) error { return errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)) },
		"truncated": func(dir string) error { return os.Truncate(filepath.Join(dir, "results.jsonl"), 0) },
	} {
		dir := filepath.Join(t.TempDir(), "out")
		p := start(t, nil, long(dir)...)
		eventually(t, "a trial is recorded", notEmpty(filepath.Join(dir, "results.jsonl")))
		if err := harm(dir); err != nil && name != "removed" { // the run can write meanwhile
			t.Fatal(err)
		}
		if got := p.status(t); got != 1 || !strings.Contains(p.stderr.String(), "the results directory was removed or replaced during the run") {
			t.Errorf("%s: status %d, want 1\n%s", name, got, &p.stderr)
		}
	}
}

// A run that is started with signals ignored, as nohup(1) does, ignores them.
func TestIgnoredSignals(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	p := &process{mark: "WEIR_TEST_MARK=" + t.TempDir()}
	p.Cmd = weir(p.mark, "run", "-n", "host", "-p", "udp-rr", "--blocks", "100", "--duration", "10ms", "--warmup", "0s", "-o", dir)
	// The shell replaces itself, with the same name, by the program of this test.
	p.Args = append([]string{"sh", "-c", `trap '' HUP INT; exec -a weir "$0" "$@"`, p.Path}, p.Args[1:]...)
	bash, err := exec.LookPath("bash") // exec -a is no part of POSIX
	if err != nil {
		t.Skip(err)
	}
	p.Path, p.Stdout, p.Stderr = bash, &p.stdout, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // normally it has already ended
	eventually(t, "a trial is recorded", notEmpty(filepath.Join(dir, "results.jsonl")))
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if err := p.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.status(t); got != 0 {
		t.Errorf("status %d, want 0\n%s", got, &p.stderr)
	}
	if c, err := store.Read(dir); err != nil || len(c.Results) < 100 { // disturbed blocks are measured again
		t.Errorf("%d trials, %v", len(c.Results), err)
	}
}

// On a terminal that stops programs in the background when they print, a run runs. The process that prints is
// in the background there.
func TestTostop(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "weir")
	if err := os.Symlink(exe, bin); err != nil { // the program of this test is weir under that name
		t.Fatal(err)
	}
	var out bytes.Buffer
	status, err := terminal.Run(ctx, terminal.Script{Cols: 100, Rows: 40}, []string{"sh", "-c",
		fmt.Sprintf("stty tostop && XDG_STATE_HOME=/dev/null exec %s run -n host -p udp-rr --blocks 2 --duration 10ms --warmup 0s -o %s/out", bin, dir)}, &out)
	if err != nil || status != 0 {
		t.Errorf("status %d, %v\n%s", status, err, &out)
	}
}

// A topology whose process is stopped costs its user a bounded time, and gives a remedy.
func TestKeeperStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	b := newBench(t)
	t.Parallel()
	b.lab(t, "up", "-n", "bridge").end(t, 0)
	for _, args := range [][]string{{"exec", "h1", "true"}, {"down"}, {"up", "-n", "bridge"}} {
		keepers(t, b, syscall.SIGSTOP)
		p := b.lab(t, args...)
		p.end(t, 3)
		if !strings.Contains(p.stderr.String(), "the topology does not answer") || !strings.Contains(p.stderr.String(), "kill -CONT ") {
			t.Errorf("%v: %s", args, &p.stderr)
		}
		keepers(t, b, syscall.SIGCONT)
		// What was asked meanwhile happens now.
		if args[0] == "down" {
			eventually(t, "the topology has ended", func() bool { return len(b.left()) == 0 })
			b.lab(t, "up", "-n", "bridge").end(t, 0)
		}
	}
	b.lab(t, "down").end(t, 0)
	eventually(t, "nothing is left", func() bool { return len(b.left()) == 0 })
}

func keepers(t *testing.T, b bench, s syscall.Signal) {
	t.Helper()
	for _, p := range b.left() {
		pid, _, _ := strings.Cut(p, ":")
		if n, err := strconv.Atoi(pid); err == nil && strings.Contains(p, " hold ") {
			_ = syscall.Kill(n, s) // it can have ended
		}
	}
}

// A topology whose socket is gone, as after a logout, ends.
func TestRuntimeDirectoryRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	b := newBench(t)
	t.Parallel()
	b.lab(t, "up", "-n", "bridge").end(t, 0)
	if err := os.RemoveAll(filepath.Join(strings.TrimPrefix(b.env[0], "XDG_RUNTIME_DIR="), "weir")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nothing is left", func() bool { return len(b.left()) == 0 })
}

// A study of thousands of networks can be interrupted while it is planned.
func TestPlanningInterrupted(t *testing.T) {
	needLab(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "large.yaml")
	var b strings.Builder
	b.WriteString("networks: [host]\nprobes: [udp-rr]\nfactors:\n")
	for f, n := range map[string]int{"size": 200, "mtu": 500} {
		fmt.Fprintf(&b, "  %s: [", f)
		for i := range n {
			fmt.Fprintf(&b, "%d, ", 600+i)
		}
		b.WriteString("600]\n")
	}
	yaml := strings.ReplaceAll(b.String(), ", 600]", "]")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, nil, "run", file, "-o", filepath.Join(t.TempDir(), "out"))
	time.Sleep(200 * time.Millisecond) // any moment will do
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if got := p.status(t); got != 4 && got != 128+int(syscall.SIGINT) {
		t.Errorf("status %d, want 4\n%s", got, &p.stderr)
	}
}

// A process of a run that stops and never continues costs the trials that need it a bounded time, and they say why.
func TestStoppedForGood(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for process, reason := range map[string]string{"weir engine serve ": "the other end is silent", "weir engine agent ": "longer than its window"} {
		t.Run(strings.TrimSpace(process), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "out")
			p := start(t, nil, "run", "-n", "host", "-p", "udp-rr", "--blocks", "3", "--duration", "500ms", "--warmup", "0s", "--keep-disturbed", "-o", dir)
			eventually(t, "a trial is recorded", notEmpty(filepath.Join(dir, "results.jsonl")))
			stopped := false
			for _, line := range withEnv(p.mark) {
				pid, command, _ := strings.Cut(line, ": ")
				if n, err := strconv.Atoi(pid); err == nil && strings.HasPrefix(command, process) {
					stopped = syscall.Kill(n, syscall.SIGSTOP) == nil || stopped
				}
			}
			got := p.statusWithin(t, slow)
			switch c, err := store.Read(dir); {
			case !stopped:
				t.Skipf("%swas not running", process) // on a machine so busy that the run had ended
			case err != nil:
				t.Error(err)
			case got != 1 || !slices.ContainsFunc(c.Results, func(r record.Result) bool { return strings.Contains(r.Reason, reason) }):
				t.Errorf("status %d, want 1 and a trial that failed because %q\n%s", got, reason, &p.stderr)
			}
		})
	}
}

// If the process that leads a run stops, its user learns how to go on, and SIGTERM ends the run.
func TestLeaderStopped(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	said, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	p := &process{mark: "WEIR_TEST_MARK=" + t.TempDir()}
	p.Cmd = weir(p.mark, "run", "-n", "host", "-p", "udp-rr", "--blocks", "1000", "--duration", "100ms", "--warmup", "0s", "--keep-disturbed", "-o", filepath.Join(t.TempDir(), "out"))
	p.Stderr = w
	err = p.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // normally it has already ended
	led, told := 0, false
	for lines := bufio.NewScanner(said); !told && lines.Scan(); {
		for _, line := range withEnv(p.mark) {
			pid, command, _ := strings.Cut(line, ": ")
			if n, err := strconv.Atoi(pid); err == nil && led == 0 && n != p.Process.Pid && strings.HasPrefix(command, "weir run ") && strings.Contains(lines.Text(), "trials done") {
				led = n
				_ = syscall.Kill(n, syscall.SIGSTOP) // it can have ended
			}
		}
		told = strings.Contains(lines.Text(), fmt.Sprintf("continue it with kill -CONT %d", led))
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if got := p.status(t); got != 4 || !told {
		t.Errorf("status %d, want 4; process %d was stopped: said %v", got, led, told)
	}
}

// A signal that ends the second process before it handles signals is not a usage error.
func TestEarlySignal(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	for range 10 {
		p := start(t, nil, "run", "-n", "host", "-p", "udp-rr", "--blocks", "1", "--duration", "10ms", "--warmup", "0s", "-o", filepath.Join(t.TempDir(), "out"))
		eventually(t, "the second process has begun", func() bool {
			for _, line := range withEnv(p.mark) {
				pid, _, _ := strings.Cut(line, ": ")
				if n, err := strconv.Atoi(pid); err == nil && n != p.Process.Pid {
					return syscall.Kill(n, syscall.SIGTERM) == nil
				}
			}
			return len(withEnv(p.mark)) == 0
		})
		if got := p.status(t); got == 2 {
			t.Errorf("status 2\n%s", &p.stderr)
		}
	}
}
