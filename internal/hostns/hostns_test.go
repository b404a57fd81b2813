package hostns

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/nstest"
)

func TestMain(m *testing.M) {
	nstest.Main(m, func(args []string) int {
		if err := Main(args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	})
}

func start(t *testing.T) *Host {
	t.Helper()
	nstest.Need(t)
	ns, err := newNamespace()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	h, err := Start(ns, "h", map[string]int{"p": ns.FD()})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func in(t *testing.T, h *Host, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := h.Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, &out)
	}
	return strings.TrimSpace(out.String())
}

// A host has its own name, processes, /sys, /run and look-ups, and the machine's control groups.
func TestHost(t *testing.T) {
	h := start(t)
	for _, c := range []struct{ script, want string }{
		{"uname -n", "h"},
		{"test $$ -lt 100", ""},
		{"ls /sys/class/net", "lo"},
		{"ls -A /run", "lock\nnetns\nresolv.conf\nweir"},
		{"ls -A " + Dir, ""},
		{"cat /etc/resolv.conf", ""},
		{"ls /run/netns", "p"},
		{"test $(stat -Lc %i /run/netns/p) = $(stat -Lc %i /proc/self/ns/net)", ""},
	} {
		if got := in(t, h, c.script); got != c.want {
			t.Errorf("%s: got %q, want %q", c.script, got, c.want)
		}
	}
	if was, err := os.ReadDir("/sys/fs/cgroup"); err == nil && len(was) > 0 && in(t, h, "ls /sys/fs/cgroup") == "" {
		t.Error("the control groups are hidden")
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// A process that has left its parent, session and process group ends with the host, and one that
// ends earlier leaves no zombie. The test's leak check would find either.
func TestDaemonsEnd(t *testing.T) {
	h := start(t)
	in(t, h, "setsid sh -c 'sleep 1000 & sleep 1000 & echo $$ > "+Dir+"/pid' </dev/null >/dev/null 2>&1 &")
	in(t, h, "until test -s "+Dir+"/pid; do sleep 0.01; done")
	in(t, h, "until ! test -e /proc/$(cat "+Dir+"/pid); do sleep 0.01; done") // reaped
	in(t, h, "until test $(cat /proc/[0-9]*/comm | grep -c sleep) = 2; do sleep 0.01; done")
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestKilled(t *testing.T) {
	h := start(t)
	cmd := exec.Command("sleep", "1000")
	if err := h.Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(h.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the program in it: %v, want that it was killed", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestMainRefuses(t *testing.T) {
	if err := Main(nil); err == nil || !strings.Contains(err.Error(), "internal command") {
		t.Errorf("error %v", err)
	}
}

func newNamespace() (ns *netns.Namespace, err error) {
	err = netns.Create(1, func(_ int, made *netns.Namespace) error {
		ns = made
		return nil
	})
	return ns, err
}
