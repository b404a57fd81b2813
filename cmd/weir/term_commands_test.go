package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/cli"
	"github.com/weir-bench/weir/internal/failure"
)

// furtherStates are those of commands that search, package and measure packages again, and of --kube.
var furtherStates = []state{
	{name: "bisect commits: git", args: "bisect commits v0 v1 -n host -p tcp-rr -o {tmp}/out -- true", lab: true, bin: map[string]string{"git": stuck}},
	{name: "bisect commits: building", args: "bisect commits v0 v1 --repo {tmp}/repo -n host -p tcp-rr -o {tmp}/out -- sh {tmp}/build", lab: true, make: repository + "cat >build <<'E'\n" + stuck + "E\n"},
	{name: "bisect kernels: booting", also: ofKernels, lab: true, bin: map[string]string{qemu: stuck}},
	{name: "bisect nodes: kubectl", args: "bisect nodes pool=a pool=b -n pod -p tcp-rr -o {tmp}/out", bin: map[string]string{"kubectl": stuck}},
	{name: "bisect settings: measuring", args: "bisect settings {tmp}/before {tmp}/after --network host --probe iperf3-tcp --blocks 1 -o {tmp}/out", lab: true, make: twoSettings,
		bin: map[string]string{"iperf3": stuck}},
	{name: "package: writing", args: "package {tmp}/results -o {tmp}/p.tar.gz", lab: true, make: oneRun, here: "{tmp}/.p.tar.gz.tmp", need: staticErr, left: noFiles("*.tar.gz", ".*.tmp")},
	{name: "reproduce: measuring a package", args: "reproduce {tmp}/p.tar.gz -o {tmp}/out", lab: true, need: staticErr, make: oneRun + "weir package results -o p.tar.gz\n", bin: map[string]string{"iperf3": stuck}},
	{name: "plan: kubectl", args: "plan --kube -n pod", bin: map[string]string{"kubectl": stuck}},
	{name: "trace: kubectl", args: "trace --kube -n pod", bin: map[string]string{"kubectl": stuck}},
	{name: "in-cluster: kubectl", args: "run --kube --in-cluster --image x -n pod -p udp-rr" + brief, bin: map[string]string{"kubectl": stuck}},
	{name: "lab exec", args: "lab exec --name t{pid} h1 -- sh {tmp}/bin/wait", lab: true, make: "XDG_RUNTIME_DIR=$PWD weir lab up --name t{pid} -n bridge\n", bin: map[string]string{"wait": stuck},
		left: func(t *testing.T, tmp string) {
			p := startIn(t, tmp, "lab", "down", "--name", fmt.Sprintf("t%d", os.Getpid()))
			if got := p.status(t); got != 0 {
				t.Errorf("lab down: status %d", got)
			}
		}},
}

const (
	// The directory of the programs comes later in these scripts, so that the installed ones run.
	oneRun     = "weir run -n host -p udp-rr,iperf3-tcp --blocks 1 --duration 20ms --warmup 0s -o results\n"
	repository = "git init -q repo && cd repo && git config user.email w@example.com && git config user.name w\nfor v in v0 v1; do echo $v >f && git add f && git commit -qm $v && git tag $v; done; cd ..\n"
	changed    = "{use: host, also: [{in: h1, sysctl: {key: net.ipv4.tcp_ecn, value: 1}}]}"
	// A short run can fail on a busy machine, and must be complete here.
	twoSettings = "for n in 'before host' 'after " + changed + "'; do weir run -n \"${n#* }\" -p iperf3-tcp --blocks 3 --duration 20ms --warmup 0s --keep-disturbed -o ${n%% *}; done\n"
)

// noFiles fails if a file of these patterns is left.
func noFiles(patterns ...string) func(*testing.T, string) {
	return func(t *testing.T, tmp string) {
		t.Helper()
		for _, p := range patterns {
			if left, _ := filepath.Glob(filepath.Join(tmp, p)); left != nil { // the patterns are constants
				t.Errorf("left %v", left)
			}
		}
	}
}

// busy are commands over results that take them some time.
var busy = []string{"report {dir}", "report --format csv {dir}", "compare {dir} {dir}", "explain {dir}", "cite {dir}", "index {above}", "package {dir} -o {tmp}/p.tar.gz", "reproduce --from {dir}",
	"bisect settings {dir} {dir}"}

// lines is how many trials keep weir busy for longer than it takes to see that it is.
const lines = 60_000

// The first SIGTERM ends a command that reads, computes or draws, whatever it is at.
func TestTermBusy(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	above := t.TempDir()
	dir := filepath.Join(above, "out")
	finish(t, weir("", "run", "-n", "host", "-p", "udp-rr", "--blocks", "2", "--duration", "10ms", "--warmup", "0s", "--keep-disturbed", "--seed", "1", "-o", dir))
	multiply(t, filepath.Join(dir, "results.jsonl"))
	for _, line := range busy {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			if err := staticErr(); err != nil && strings.HasPrefix(line, "package") {
				t.Skip(err)
			}
			p := startIn(t, tmp, strings.Fields(strings.NewReplacer("{dir}", dir, "{above}", above, "{tmp}", tmp).Replace(line))...)
			eventually(t, "it computes", func() bool { return cpuTicks(p.Process.Pid) > 20 }) // 0.2 s
			begun := time.Now()
			if err := p.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			got, took := p.status(t), time.Since(begun)
			said, err := os.ReadFile(filepath.Join(tmp, "stderr"))
			interrupted := got == int(failure.Interrupted) && strings.Contains(string(said), "interrupted by signal 15 (terminated)\n")
			if err != nil || took > endsWithin || !interrupted && took > time.Second { // it can have just been ready
				t.Errorf("status %d after %v: %s, %v", got, took, said, err)
			}
			noFiles("*.tar.gz", ".*.tmp")(t, tmp)
		})
	}
}

// The engine's commands by hand: a server that never answers, and echoes for an hour.
func TestTermEngine(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	tmp := t.TempDir()
	p := startIn(t, tmp, "engine", "run", "tcp-rr", server.Addr().String())
	conn, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p.terminate(t, tmp)

	tmp = t.TempDir()
	p = startIn(t, tmp, "engine", "ping", "127.0.0.1", "--duration", "1h")
	eventually(t, "it pings", func() bool { // through a socket
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.Process.Pid))
		return slices.ContainsFunc(fds, func(fd string) bool { to, _ := os.Readlink(fd); return strings.HasPrefix(to, "socket:") })
	})
	p.terminate(t, tmp)
}

// multiply makes many trials of the first one of a run.
func multiply(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	if !strings.Contains(line, `"trial":"b001-`) || !strings.Contains(line, `"block":1,`) {
		t.Fatalf("a trial looks otherwise: %.200s", line)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for n := range lines {
		one := strings.Replace(line, `"trial":"b001-`, fmt.Sprintf(`"trial":"b%06d-`, n+1), 1)
		if _, err := fmt.Fprintln(f, strings.Replace(one, `"block":1,`, fmt.Sprintf(`"block":%d,`, n+1), 1)); err != nil {
			t.Fatal(err)
		}
	}
}

// cpuTicks returns the CPU time that a process has used, in ticks of 10 ms.
func cpuTicks(pid int) (n int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // 0 when it has ended
	_, after, _ := strings.Cut(string(b), ") ")
	if f := strings.Fields(after); len(f) > 12 {
		var user, system int
		_, _ = fmt.Sscan(f[11], &user) // fields 14 and 15 of proc_pid_stat(5)
		_, _ = fmt.Sscan(f[12], &system)
		n = user + system
	}
	return n
}

// unwaiting commands wait for nothing but a disk; TestKeeperStopped has lab down.
var unwaiting = []string{"help", "completion", "lab down", "image"}

// A new command gets a state in which SIGTERM must end it.
func TestTermEveryCommand(t *testing.T) {
	root := cli.Command("test")
	tested := map[string]bool{}
	note := func(line string) {
		if c, _, err := root.Find(strings.Fields(line)); err == nil {
			tested[c.CommandPath()] = true
		}
	}
	for _, s := range slices.Concat(states, furtherStates) {
		note(s.args)
	}
	for _, line := range slices.Concat(printing, busy, []string{"bisect kernels", "import", "engine run", "engine ping"}) { // of ofKernels, TestReaderEnds and TestTermEngine
		note(line)
	}
	var all func(c *cobra.Command)
	all = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		for _, sub := range c.Commands() {
			all(sub)
		}
		path := strings.TrimPrefix(c.CommandPath(), "weir ")
		if c.HasSubCommands() || tested[c.CommandPath()] || slices.ContainsFunc(unwaiting, func(u string) bool { return path == u || strings.HasPrefix(path, u+" ") }) {
			return
		}
		t.Errorf("no test ends weir %s by SIGTERM: add a state to furtherStates, or a line to printing or busy", path)
	}
	all(root)
}
