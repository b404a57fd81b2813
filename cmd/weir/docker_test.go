package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func needDocker(t *testing.T) {
	t.Helper()
	needLab(t)
	if os.Geteuid() != 0 {
		t.Skip("dockerd needs root")
	}
	if _, err := exec.LookPath("dockerd"); err != nil {
		t.Skipf("docker.io is not installed: %v", err)
	}
	if err := staticErr(); err != nil {
		t.Skip(err)
	}
}

// However weir ends, no containers or control groups are left.
func TestDockerEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	needDocker(t)
	parent := regexp.MustCompile(`--cgroup-parent /(weir-\w+) `)
	for sig, want := range map[syscall.Signal]int{syscall.SIGKILL: 128 + 9, syscall.SIGINT: 4} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "out")
			p := start(t, nil, "run", "-n", "docker-bridge", "-p", "udp-rr", "--blocks", "5000", "--duration", "10ms", "--warmup", "0s", "-o", dir)
			eventually(t, "a trial is recorded", notEmpty(filepath.Join(dir, "results.jsonl")))
			m := parent.FindStringSubmatch(strings.Join(withEnv(p.mark), "\n"))
			if m == nil {
				t.Fatalf("dockerd is not among %v", withEnv(p.mark))
			}
			if len(groups(t, m[1])) == 0 {
				t.Errorf("no control group %s, so where did the containers run?", m[1])
			}
			if err := p.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if got := p.status(t); got != want { // waits until all processes are gone
				t.Errorf("status %d, want %d\n%s", got, want, &p.stderr)
			}
			if left := groups(t, m[1]); len(left) > 0 {
				t.Errorf("left control groups: %v", left)
			}
		})
	}
}

func groups(t *testing.T, name string) (dirs []string) {
	t.Helper()
	for _, at := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
		found, err := filepath.Glob(filepath.Join(at, name))
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, found...)
	}
	return dirs
}
