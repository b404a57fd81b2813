package ssh

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/topo"
)

// fake is an ssh whose machines a and b are network namespaces of this kernel. Others fail.
const fake = `#!/bin/sh
while [ "$1" != -- ]; do shift; done
name=$2 command=$3
on() { # ADDRESS
	[ -z "$banner" ] || echo "$banner"
	exec unshare --net sh -c 'ip link set lo up; ip addr add "$0/24" dev lo; ip addr add fd00::"${0##*.}"/64 dev lo
		SSH_CONNECTION="10.0.0.9 50000 $0 22" exec sh -c "$1"' "$1" "$command"
}
case $name in
a) banner='Welcome to a
weir-bootstrap is not for you. "{}"'; on 10.0.0.1 ;;
b) on 10.0.0.2 ;;
here | again) exec sh -c "$command" ;;
denied) echo "me@denied: Permission denied (publickey)." >&2; exit 255 ;;
stranger) echo "Host key verification failed." >&2; exit 255 ;;
refused) echo "ssh: connect to host refused port 22: Connection refused" >&2; exit 255 ;;
shell) echo "This account is currently not available."; exit 1 ;;
appliance) echo "% Invalid command: exec"; read -r line; exit 1 ;;
odd) printf 'odd\033[2J thing\n' >&2; exit 255 ;;
deaf) exec sleep 1000 ;;
esac
`

// useFake puts the fake first on PATH.
func useFake(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(fake), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// spaces skips a test without the tools that give the fake's machines networks.
func spaces(t *testing.T) {
	t.Helper()
	nstest.Need(t)
	for _, tool := range []string{"ip", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s: not found: install iproute2 and util-linux", tool)
		}
	}
}

func open(t *testing.T, names ...string) *Target {
	t.Helper()
	tg, err := New(names, target.Ports{}, remote.Programs{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tg.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return tg
}

// Every machine's error is reported, with its remedy, and nothing is left of the others.
func TestNoConnection(t *testing.T) {
	useFake(t)
	for _, c := range []struct {
		names string
		want  []string
	}{
		{"denied,refused", []string{"denied: ssh: me@denied: Permission denied (publickey).; ", "`ssh-copy-id denied`", "refused: ssh: ssh: connect to host refused port 22: Connection refused; no SSH server"}},
		{"stranger,shell", []string{"run `ssh stranger` once by hand", "shell: ", "This account is currently not available", "`ssh shell echo hello` must print hello"}},
		{"appliance,odd", []string{"appliance: ", "Invalid command", "odd: ", `odd\x1b[2J thing`}},
		{"here,again", []string{"here and again are one machine"}},
		{"here,denied", []string{"denied: ssh: "}},
	} {
		t.Run(c.names, func(t *testing.T) {
			err := open(t, strings.Split(c.names, ",")...).Connect(t.Context())
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %s", err, want)
				}
			}
			if strings.Contains(err.Error(), "\x1b") {
				t.Errorf("a control character of the machine: %q", err)
			}
		})
	}
}

func TestNoProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := open(t, "a", "b").Connect(t.Context()); err == nil || !strings.Contains(err.Error(), `"ssh": executable file not found in $PATH; install the OpenSSH client`) {
		t.Errorf("error %v", err)
	}
}

// A machine that never answers does not outlast its context.
func TestDeafMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	useFake(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := open(t, "deaf", "refused").Connect(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestOpen(t *testing.T) {
	spaces(t)
	useFake(t)
	tg := open(t, "a", "b")
	want := topo.Topology{Hosts: make([]topo.Host, 2)}
	site, err := tg.Open(t.Context(), want, "")
	if err != nil {
		t.Fatal(err)
	}
	found := site.Topology
	for i, h := range found.Hosts {
		if w := (topo.Host{Name: tg.Names()[i], Dev: "lo", Addr: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), 24)}); h.Name != w.Name || h.Dev != w.Dev || h.Addr != w.Addr {
			t.Errorf("found %+v, want %+v", h, w)
		}
		if node := site.Nodes[h.Name]; node == nil || node.Host().Name != h.Name {
			t.Errorf("node %v of host %s", node, h.Name)
		}
	}
	if !found.Exists || found.MTU != 65536 && found.MTU != 65535 || site.Private || len(site.Token) < 20 || site.Ports != Ports || site.Shell != nil {
		t.Errorf("site %+v of %+v", site, found)
	}
	if err := site.Apply(t.Context(), []plan.Step{{In: "a", Set: &plan.Set{Dev: "lo", MTU: 1400}}}); err == nil {
		t.Error("a step changed a machine")
	}
	if err := site.Verify(t.Context(), []plan.State{{In: "a", Dev: "lo", MTU: 65536}}); err != nil {
		t.Error(err)
	}

	again, err := tg.Open(t.Context(), topo.Topology{Hosts: make([]topo.Host, 2), Find: topo.Find{Kind: topo.Via, Dev: "lo"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if again.Nodes["a"] != site.Nodes["a"] || again.Token != site.Token || again.Topology.Find.Dev != "lo" {
		t.Errorf("another network has other connections: %+v", again)
	}
	if err := errors.Join(again.Close(), site.Verify(t.Context(), nil)); err != nil {
		t.Errorf("the end of one site hurts another: %v", err)
	}
	if _, err := tg.Open(t.Context(), topo.Topology{Hosts: make([]topo.Host, 3)}, ""); err == nil || !strings.Contains(err.Error(), "3 hosts, but --ssh names 2 machines") {
		t.Errorf("three hosts: %v", err)
	}
}

// A machine that is lost fails its site, by name; the next Open finds it again.
func TestLost(t *testing.T) {
	spaces(t)
	useFake(t)
	tg := open(t, "a", "b")
	want := topo.Topology{Hosts: make([]topo.Host, 2)}
	site, err := tg.Open(t.Context(), want, "")
	if err != nil {
		t.Fatal(err)
	}
	var agent strings.Builder // its process ID, which is also that of the fake
	if err := site.Nodes["a"].Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", "echo $PPID"}, Stdout: &agent}); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(agent.String()))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := site.Nodes["a"].Run(t.Context(), target.Cmd{Argv: []string{"sleep", "1000"}}); !errors.Is(err, target.ErrLost) {
		t.Errorf("a program without its agent: %v", err)
	}
	if err := site.Verify(t.Context(), nil); !errors.Is(err, target.ErrLost) || !strings.Contains(err.Error(), "a: ") || strings.Contains(err.Error(), "b: ") {
		t.Errorf("verify: %v", err)
	}
	b := site.Nodes["b"]
	if site, err = tg.Open(t.Context(), want, ""); err != nil {
		t.Fatal(err)
	}
	if site.Nodes["b"] != b {
		t.Error("a live connection was replaced")
	}
	if err := errors.Join(site.Nodes["a"].Run(t.Context(), target.Cmd{Argv: []string{"true"}}), site.Verify(t.Context(), nil)); err != nil {
		t.Error(err)
	}
}
