package main

import (
	"bytes"
	"math/rand/v2"
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
)

// weir returns a command that runs this test binary as weir, with an environment mark that
// identifies everything it starts, and without a history of runs.
func weir(mark string, args ...string) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &exec.Cmd{Path: exe, Args: append([]string{"weir"}, args...), Env: append(os.Environ(), mark, "XDG_STATE_HOME="+os.DevNull)}
}

// withEnv lists the other processes that have an entry in their environment, with their command
// lines.
func withEnv(entry string) (left []string) {
	procs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is a constant
	for _, p := range procs {
		env, _ := os.ReadFile(filepath.Join(p, "environ")) // the process may be gone
		if bytes.Contains(append([]byte{0}, env...), []byte("\x00"+entry+"\x00")) && filepath.Base(p) != strconv.Itoa(os.Getpid()) {
			cmdline, _ := os.ReadFile(filepath.Join(p, "cmdline"))
			left = append(left, filepath.Base(p)+": "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return left
}

// A run that is killed any number of times at any moment, then resumed, ends with the same trials
// as an undisturbed one, each once, and leaves nothing behind.
func TestKilledRunResumes(t *testing.T) {
	if err := labErr(); err != nil {
		t.Skipf("no lab: %v", err)
	}
	t.Parallel()
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	study := []string{"-n", "host,vxlan-overlay", "-p", "tcp-stream,udp-rr", "-f", "mtu=1500,9000",
		"--blocks", "2", "--duration", "30ms", "--warmup", "10ms", "--seed", "7"}
	tmp := t.TempDir()
	mark := "WEIR_TEST_MARK=" + tmp
	alone, killed := filepath.Join(tmp, "alone"), filepath.Join(tmp, "killed")
	devices := read(t, "/proc/net/dev", 1)
	finish(t, weir(mark, append([]string{"run", "-o", alone}, study...)...))
	rng := rand.New(rand.NewPCG(1, 2))
	resume := func() []string {
		if _, err := os.Stat(filepath.Join(killed, "study.yaml")); err == nil {
			return []string{"run", "--resume", killed}
		}
		return append([]string{"run", "-o", killed}, study...)
	}
	for range 15 {
		cmd := weir(mark, resume()...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// At a random moment: from before the namespaces exist to the middle of a trial.
		time.AfterFunc(time.Duration(rng.IntN(2500))*time.Millisecond, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		_ = cmd.Wait() // killed, or already finished
		deadline := time.Now().Add(5 * time.Second)
		for len(withEnv(mark)) > 0 {
			if time.Now().After(deadline) {
				t.Fatalf("left processes: %v", withEnv(mark))
			}
			time.Sleep(5 * time.Millisecond) // the kernel ends a PID namespace in its own time
		}
	}
	finish(t, weir(mark, resume()...))
	want, got := trials(t, alone), trials(t, killed)
	if !slices.Equal(want, got) {
		t.Errorf("trials differ:\nundisturbed %v\nkilled      %v", want, got)
	}
	if now := read(t, "/proc/net/dev", 1); now != devices {
		t.Errorf("devices were %s, are %s", devices, now)
	}
}

// finish runs cmd to its end. Status 1 is fine: such short trials can fail on a busy machine, but
// must be recorded.
func finish(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
}

func trials(t *testing.T, dir string) (ids []string) {
	t.Helper()
	c, err := store.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Problems {
		t.Error(p)
	}
	for _, r := range c.Results {
		ids = append(ids, r.Trial)
	}
	slices.Sort(ids)
	return ids
}

func read(t *testing.T, name string, heading int) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n")[heading:] {
		words = append(words, strings.Fields(line)[0])
	}
	return strings.Join(words, " ")
}
