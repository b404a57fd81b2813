package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// A program on a runs a command on b: on the given processors, with words parsed by a shell, as the
// same process, with a shared directory. This also works where a place has its own namespaces, in
// which this process is not visible.
func TestShell(t *testing.T) {
	for _, hosts := range []string{"", "a", "b", "ab"} {
		t.Run("hosts="+hosts, func(t *testing.T) {
			s := open(t, "a", "b")
			steps := wire(1500)
			for _, name := range strings.Split(hosts, "") {
				steps = append(steps, plan.Step{In: name, File: &plan.File{Name: "conf"}})
			}
			if err := s.Apply(t.Context(), steps); err != nil {
				t.Fatal(err)
			}
			cpu := s.Nodes["b"].CPUs()[:1]
			shell, dir := s.Shell("a", "b", cpu)
			script := `mkdir $0/d && echo 7654 >$0/d/f && exec "$@"`
			argv := append([]string{"sh", "-c", script, dir}, shell...)
			argv = append(argv, "host-b", "cat", "/proc/net/fib_trie", dir+"/d/f;", "ls /sys/class/net;", "grep Cpus_allowed_list /proc/self/status;", "exit 7")
			var out bytes.Buffer
			err := s.Nodes["a"].Run(t.Context(), target.Cmd{Argv: argv, Stdout: &out, Stderr: os.Stderr})
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 7 {
				t.Errorf("%v, want exit status 7", err)
			}
			for _, want := range []string{"198.18.0.2", "\n7654\n", "\ne0\n", fmt.Sprintf("Cpus_allowed_list:\t%d\n", cpu[0])} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in %s", want, &out)
				}
			}
			if strings.Contains(out.String(), "198.18.0.1\n") {
				t.Errorf("that was node a: %s", &out)
			}
		})
	}
}

func TestShellRefuses(t *testing.T) {
	s := open(t, "a")
	for _, bad := range [][]string{{"1,x", ours("ns/net"), "h", "true"}, {anyCPU, "/nonexistent", "h", "true"}} {
		var out bytes.Buffer
		argv := append([]string{ours("exe"), "host", "rsh"}, bad...)
		if err := s.Nodes["a"].Run(t.Context(), target.Cmd{Argv: argv, Stderr: &out}); err == nil || out.Len() == 0 {
			t.Errorf("%q: %v, and it said %q", bad, err, &out)
		}
	}
}

// The places' shared directory vanishes with the site.
func TestDirVanishes(t *testing.T) {
	nstest.Need(t)
	s, err := Open(t.Context(), []string{"a", "b"}, "")
	if err != nil {
		t.Fatal(err)
	}
	_, dir := s.Shell("a", "b", nil)
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is still there", dir)
	}
}
