package ssh

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/agent"
	"github.com/weir-bench/weir/internal/topo"
)

// patience bounds steps that are not stuck.
const patience = 20 * time.Second

// configure puts entries before all others of the ssh of these machines: the first value counts.
func configure(t *testing.T, dir, entries string) {
	t.Helper()
	name := filepath.Join(dir, "config")
	b, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, append([]byte(entries+"\n"), b...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func two(find topo.Find) topo.Topology { return topo.Topology{Hosts: make([]topo.Host, 2), Find: find} }

// One set of machines for all tests, because it takes a second to start.
func TestRealServers(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	dir := nstest.Hosts(t, "a,b")
	t.Run("networks", networks)
	t.Run("jump host", func(t *testing.T) { jump(t, dir) })
	t.Run("shared connection", func(t *testing.T) { shared(t, dir) })
	t.Run("unknown key", func(t *testing.T) {
		configure(t, dir, "Host stranger\n  HostName 10.208.0.1\n  UserKnownHostsFile /dev/null\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking ask")
		if err := open(t, "stranger", "b").Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "run `ssh stranger` once by hand") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("no key", func(t *testing.T) {
		configure(t, dir, "Host keyless\n  HostName 10.208.0.1\n  PubkeyAuthentication no")
		if err := open(t, "keyless", "b").Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "`ssh-copy-id keyless`") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("forced command", func(t *testing.T) { forced(t, dir) })
	t.Run("two names", func(t *testing.T) {
		if err := open(t, "a", "a6").Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "a and a6 are one machine") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("changed devices", changed)
	t.Run("killed ssh", killedSSH)
	t.Run("killed weir", killedWeir)
	t.Run("cut wire", cutWire)
	// What ssh starts, for a jump or as a master, outlives it and becomes this process's child.
	for _, pid := range children(t, os.Getpid(), "ssh") {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
			t.Errorf("wait for ssh: %v", err)
		}
	}
}

// networks finds the addresses of both families and those of another device.
func networks(t *testing.T) {
	for _, c := range []struct {
		names string
		find  topo.Find
		mtu   int
		want  string
	}{
		{"a,b", topo.Find{}, 1500, "eth0 10.208.0.1/24, eth0 10.208.0.2/24"},
		{"a6,b6", topo.Find{}, 1500, "eth0 fd00:208::1/64, eth0 fd00:208::2/64"},
		{"a,b6", topo.Find{}, 1500, "eth0 10.208.0.1/24, eth0 10.208.0.2/24"},
		{"a=10.209.0.1,b=10.209.0.2", topo.Find{}, 1450, "vx0 10.209.0.1/24, vx0 10.209.0.2/24"},
		{"a,b=10.209.0.2", topo.Find{}, 1450, "eth0 10.208.0.1/24, vx0 10.209.0.2/24"},
		{"a,b", topo.Find{Kind: topo.Via, Dev: "vx0"}, 1450, "vx0 10.209.0.1/24, vx0 10.209.0.2/24"},
	} {
		site, err := open(t, strings.Split(c.names, ",")...).Open(t.Context(), two(c.find), "")
		if err != nil {
			t.Errorf("%s: %v", c.names, err)
			continue
		}
		var got []string
		for _, h := range site.Topology.Hosts {
			got = append(got, h.Dev+" "+h.Addr.String())
		}
		if s := strings.Join(got, ", "); s != c.want || site.Topology.MTU != c.mtu {
			t.Errorf("%s over %v: %s with MTU %d, want %s and %d", c.names, c.find, s, site.Topology.MTU, c.want, c.mtu)
		}
	}
	if _, err := open(t, "a", "b").Open(t.Context(), two(topo.Find{Kind: topo.Via, Dev: "wg0"}), ""); err == nil || !strings.Contains(err.Error(), "a has eth0 10.208.0.1/24") {
		t.Errorf("a device that nobody has: %v", err)
	}
}

// Behind a jump host, the machine knows which of its addresses was called.
func jump(t *testing.T, dir string) {
	configure(t, dir, "Host far\n  HostName 10.208.0.2\n  ProxyJump a")
	site, err := open(t, "a", "far").Open(t.Context(), two(topo.Find{}), "")
	if err != nil {
		t.Fatal(err)
	}
	if h := site.Topology.Hosts[1]; h.Name != "far" || h.Addr.String() != "10.208.0.2/24" {
		t.Errorf("found %+v", h)
	}
}

// A key that runs one command works if that runs what the client asked for; otherwise the error names it.
func forced(t *testing.T, dir string) {
	name := filepath.Join(dir, "id.pub") // the machines' authorized_keys
	key, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	defer write(key)
	write(append([]byte(`command="echo only backups here" `), key...))
	if err := open(t, "a", "b").Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "only backups here") || !strings.Contains(err.Error(), "`ssh a echo hello` must print hello: check the login shell on the machine, ForceCommand") {
		t.Errorf("error %v", err)
	}
	write(append([]byte(`command="echo logged; exec sh -c \"$SSH_ORIGINAL_COMMAND\"" `), key...))
	if err := open(t, "a", "b").Connect(t.Context()); err != nil {
		t.Error(err)
	}
}

// The master of a shared connection outlives the ssh that started it, and holds its standard error.
func shared(t *testing.T, dir string) {
	configure(t, dir, "Host m\n  HostName 10.208.0.1\n  ControlMaster auto\n  ControlPath "+dir+"/cm\n  ControlPersist 60")
	defer func() {
		if out, err := exec.Command("ssh", "-O", "exit", "m").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		gone(t)
	}()
	for range 2 { // the second uses the master
		tg := open(t, "m", "b")
		if _, err := tg.Open(t.Context(), two(topo.Find{}), ""); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := tg.Close(); err != nil || time.Since(begin) > patience/4 {
			t.Errorf("close took %v: %v", time.Since(begin), err)
		}
	}
}

// far returns the processes on the machines that are no SSH servers.
func far(t *testing.T) (names []string) {
	t.Helper()
	in := map[string][]string{} // by PID namespace
	for _, dir := range procs(t) {
		space, _ := os.Readlink(dir + "/ns/pid") // a process can be gone
		in[space] = append(in[space], comm(dir))
	}
	for _, all := range in {
		if slices.ContainsFunc(all, server) {
			names = append(names, slices.DeleteFunc(all, server)...)
		}
	}
	return names
}

func server(comm string) bool { return strings.HasPrefix(comm, "sshd") }

func procs(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

func comm(proc string) string {
	b, _ := os.ReadFile(proc + "/comm") // it can be gone
	return strings.TrimSpace(string(b))
}

// gone waits until neither a process nor a file of weir is left on the machines.
func gone(t *testing.T) {
	t.Helper()
	for late := time.Now().Add(2 * patience); ; time.Sleep(10 * time.Millisecond) {
		left := far(t)
		for _, dir := range procs(t) {
			if server(comm(dir)) {
				files, _ := filepath.Glob(filepath.Join(dir, "root", "tmp", "weir-*"))
				left = append(left, files...)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(late) {
			t.Errorf("left on the machines: %v", left)
			return
		}
	}
}

// children returns the processes that a process has started under a name.
func children(t *testing.T, pid int, name string) (pids []int) {
	t.Helper()
	for _, dir := range procs(t) {
		stat, _ := os.ReadFile(dir + "/stat") // it can be gone
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(pid) && comm(dir) == name {
			p, _ := strconv.Atoi(filepath.Base(dir))
			pids = append(pids, p)
		}
	}
	return pids
}

// busy opens both machines and runs a program on each that leaves its session.
func busy(t *testing.T) (site *target.Site, ended chan error) {
	t.Helper()
	site, err := open(t, "a", "b").Open(t.Context(), two(topo.Find{}), "")
	if err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 2)
	for _, node := range site.Nodes {
		r, w := io.Pipe()
		go func() {
			ended <- node.Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", "setsid sleep 1000 & echo ready; sleep 1000"}, Stdout: w})
		}()
		if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if len(far(t)) < 6 { // two agents with three processes each
		t.Errorf("only %v run on the machines", far(t))
	}
	return site, ended
}

func killedSSH(t *testing.T) {
	site, ended := busy(t)
	for _, pid := range children(t, os.Getpid(), "ssh") {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if err := <-ended; !errors.Is(err, target.ErrLost) {
			t.Errorf("a program ended with %v", err)
		}
	}
	if err := site.Verify(t.Context(), nil); !errors.Is(err, target.ErrLost) || !strings.Contains(err.Error(), "a: ") || !strings.Contains(err.Error(), "b: ") {
		t.Errorf("verify: %v", err)
	}
	gone(t)
}

func killedWeir(t *testing.T) {
	weir := exec.Command("/proc/self/exe", "coordinate", "a", "b")
	weir.Args[0] = "weir"
	weir.Stderr = os.Stderr
	out, err := weir.StdoutPipe()
	if err == nil {
		err = weir.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 2 {
		if !lines.Scan() {
			t.Fatal("the coordinator ended")
		}
	}
	if err := weir.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = weir.Wait() // killed
	gone(t)
}

// A wire without packets ends both sides: this one after 15 s, the machine's after 30 s.
func cutWire(t *testing.T) {
	site, ended := busy(t)
	link := func(state string) {
		if out, err := exec.Command("ip", "link", "set", "wire1", state).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	link("down")
	defer link("up")
	begin := time.Now()
	if err := <-ended; !errors.Is(err, target.ErrLost) || time.Since(begin) > patience {
		t.Errorf("a program ended after %v with %v", time.Since(begin), err)
	}
	if err := site.Verify(t.Context(), nil); !errors.Is(err, target.ErrLost) || strings.Contains(err.Error(), "b: ") {
		t.Errorf("verify: %v", err)
	}
	site.Nodes["b"].(*agent.Node).Close() // only a is left, behind the cut
	<-ended
	gone(t)
}
