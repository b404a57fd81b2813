package main

import (
	"cmp"
	"fmt"
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

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/target/kube/fakekube"
)

// endsWithin is the end of every command after the first SIGTERM, on a machine that has the time: 2 s. Here, everything
// else runs at once.
const endsWithin = 6 * time.Second

// A state is something that a command waits for, perhaps for ever.
type state struct {
	name string
	args string            // {tmp} is the test's directory; words are separated by spaces
	bin  map[string]string // programs in PATH
	here string            // the file that gets bytes when the state is reached; "": {tmp}/here
	lab  bool
	run  bool                           // another weir runs in {tmp}/out; it has ended in {tmp}/base
	also func(*testing.T) []string      // further arguments
	make string                         // a script that makes what it needs, in {tmp}
	need func() error                   // why it cannot be reached here
	left func(t *testing.T, tmp string) // fails if something is left
}

// asks is a network that runs tc(8).
const asks = "{use:host,also:[{in:h1,exec:{argv:[tc,qdisc,replace,dev,eth0,root,pfifo]}}]}"

const hypothesis = `[{"text": "x", "cells": [{"network": "host", "probe": "udp-rr"}],
	"test": {"metric": "rtt", "factor": 0.5, "fix": [{"in": "h1", "sysctl": {"key": "net.ipv4.tcp_sack", "value": "0"}}]}}]`

// stuck is a program that heeds neither its input nor a signal.
const stuck = "trap '' TERM INT HUP\necho here >> {tmp}/here\nwhile :; do sleep 1000; done\n"

// cutAfter is an ssh that leads to this machine. What the agent says ends after some bytes, and ssh does not.
func cutAfter(bytes int) map[string]string {
	return map[string]string{"ssh": fmt.Sprintf("trap '' TERM INT HUP\nfor last; do :; done\nsh -c \"$last\" | { dd bs=1 count=%d\n%s}", bytes, stuck)}
}

const (
	brief = " --blocks 1 --duration 20ms --warmup 0s -o {tmp}/out"
	twice = "-n host -p udp-rr --runs 2 --every 1h" + brief
)

var states = []state{
	{name: "run: building", args: "run -p udp-rr -n " + asks + brief, lab: true, bin: map[string]string{"tc": stuck}},
	{name: "run: looking for a tool", args: "run -n host -p iperf3-tcp" + brief, lab: true, bin: map[string]string{"iperf3": stuck}},
	{name: "run: measuring", args: "run -n host -p iperf3-tcp" + brief, lab: true,
		bin: map[string]string{"iperf3": "case $1 in --version) echo 'iperf 3.12'; exit;; esac\n" + stuck}},
	{name: "run: between two", args: "run " + twice, lab: true, here: "{tmp}/out/001/report.html"},
	{name: "reproduce", args: "reproduce tso-doubles-tcp --fast -o {tmp}/out", lab: true, here: "{tmp}/stderr"},
	{name: "figure", args: "figure thesis-14 --fast --results {tmp}/out", lab: true, here: "{tmp}/stderr"},
	{name: "trace", args: "trace -n " + asks, lab: true, bin: map[string]string{"tc": stuck}},
	{name: "doctor", args: "doctor", lab: true, bin: map[string]string{"iperf3": stuck}},
	{name: "lab up: building", args: "lab up --name t{pid} -n " + asks, lab: true, bin: map[string]string{"tc": stuck}},
	{name: "ssh: login", args: "run --ssh a,b -n host -p udp-rr" + brief, bin: map[string]string{"ssh": stuck}},
	{name: "ssh: doctor", args: "doctor --ssh a,b", bin: map[string]string{"ssh": stuck}},
	{name: "ssh: trace", args: "trace --ssh a,b -n host", bin: map[string]string{"ssh": stuck}},
	{name: "ssh: greeting", args: "run --ssh a,b -n host -p udp-rr" + brief, bin: cutAfter(40)},
	{name: "ssh: answer", args: "run --ssh a,b -n host -p udp-rr" + brief, bin: cutAfter(420)},
	{name: "kubectl", args: "run --kube -n host -p udp-rr" + brief, bin: map[string]string{"kubectl": stuck}},
	{name: "kubectl: doctor", args: "doctor --kube", bin: map[string]string{"kubectl": stuck}},
	{name: "kubectl: attach", args: "run --kube --attach weir-1 -o {tmp}/out", bin: map[string]string{"kubectl": stuck}},
	{name: "kubectl: lies", args: "run --kube -n host -p udp-rr" + brief, bin: map[string]string{"kubectl": "echo {}\n" + stuck}},
	{name: "QEMU", args: "run --in-vm -n host -p udp-rr" + brief, lab: true, bin: map[string]string{qemu: stuck}},
	{name: "engine serve", args: "engine serve 127.0.0.1:0", here: "{tmp}/stdout"},
	{name: "explain --test", args: "explain {tmp}/base --test --hypothesis {tmp}/mine.json", lab: true, run: true, here: "{tmp}/stderr"},
	{name: "run --resume", args: "run --resume {tmp}/base", lab: true, run: true, bin: map[string]string{"iperf3": stuck}},
	{name: "watch", args: "watch {tmp}/out", lab: true, run: true, here: "{tmp}/stdout"},
}

// The first SIGTERM ends every command soon, whatever it waits for, and with it all that it has started.
func TestTerm(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, s := range slices.Concat(states, furtherStates) {
		t.Run(s.name, func(t *testing.T) {
			if err := guestErr(); s.bin[qemu] != "" && err != nil {
				t.Skip(err)
			}
			if s.need != nil && s.need() != nil {
				t.Skip(s.need())
			}
			t.Parallel()
			if s.lab {
				needLab(t)
			}
			tmp := t.TempDir()
			in := strings.NewReplacer("{tmp}", tmp, "{pid}", strconv.Itoa(os.Getpid()))
			for name, text := range s.bin {
				program(t, filepath.Join(tmp, "bin", name), in.Replace(text))
			}
			if err := os.WriteFile(filepath.Join(tmp, "mine.json"), []byte(hypothesis), 0o600); err != nil {
				t.Fatal(err)
			}
			if s.run {
				finish(t, weir("", strings.Fields(in.Replace("run -n host -p udp-rr,iperf3-tcp --blocks 1 --duration 20ms --warmup 0s -o {tmp}/base"))...))
				beside := start(t, nil, long(filepath.Join(tmp, "out"))...)
				defer func() { // before its directory goes
					_ = beside.Process.Kill()
					beside.status(t)
				}()
				eventually(t, "a trial is recorded", notEmpty(filepath.Join(tmp, "out", "results.jsonl")))
			}
			if s.make != "" {
				made := exec.Command("sh", "-ec", in.Replace(s.make))
				made.Dir, made.Env = tmp, append(os.Environ(), "XDG_STATE_HOME="+os.DevNull)
				if out, err := made.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			args := strings.Fields(in.Replace(s.args))
			if s.also != nil {
				args = append(args, s.also(t)...)
			}
			p := startIn(t, tmp, args...)
			eventually(t, "it waits", notEmpty(in.Replace(cmp.Or(s.here, "{tmp}/here"))))
			p.terminate(t, tmp)
			if s.left != nil {
				s.left(t, tmp)
			}
		})
	}
}

// startIn starts weir with the programs of a directory, which gets its output.
func startIn(t *testing.T, tmp string, args ...string) *process {
	t.Helper()
	p := &process{mark: "WEIR_TEST_MARK=" + tmp}
	p.Cmd = weir(p.mark, args...)
	p.Env = append(p.Env, "PATH="+filepath.Join(tmp, "bin")+":"+os.Getenv("PATH"), "XDG_RUNTIME_DIR="+tmp)
	for name, to := range map[string]*io.Writer{"stdout": &p.Stdout, "stderr": &p.Stderr} {
		f, err := os.Create(filepath.Join(tmp, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		*to = f // a file, which nobody need read
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // normally it has already ended
	return p
}

// terminate sends SIGTERM to p, which must end soon, with its status and a word.
func (p *process) terminate(t *testing.T, tmp string) {
	t.Helper()
	begun := time.Now()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = p.Process.Kill() })
	_ = p.Wait() // its status is below
	late.Stop()
	took := time.Since(begun)
	said, err := os.ReadFile(filepath.Join(tmp, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.ProcessState.ExitCode(); got != int(failure.Interrupted) || took > endsWithin {
		t.Errorf("status %d after %v\n%s", got, took, said)
	}
	if !strings.Contains(string(said), "interrupted by signal 15 (terminated)\n") {
		t.Errorf("it does not say so:\n%s", said)
	}
	eventually(t, "nothing is left", func() bool { return len(withEnv(p.mark)) == 0 })
	t.Logf("%v\n%s", took, said)
}

// Where a kubectl waits for ever in the middle of a run, a process that outlives the run removes what the run made.
func TestTermInACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, call := range []string{"create", "attach", "get pods"} {
		t.Run(call, func(t *testing.T) {
			c := fakekube.Start(t)
			c.Set(t, func(s *fakekube.State) { s.Namespaces["default"] = map[string]string{} })
			real, err := exec.LookPath("kubectl")
			if err != nil {
				t.Fatal(err)
			}
			tmp := t.TempDir()
			program(t, filepath.Join(tmp, "bin", "kubectl"), strings.ReplaceAll(`case " $* " in *" `+call+` "*) `+stuck+`;; esac
exec `+real+` "$@"
`, "{tmp}", tmp))
			p := startIn(t, tmp, "run", "--kube", "-n", "pod", "-p", "tcp-rr", "--blocks", "1", "--duration", "10ms", "--warmup", "0s", "-o", filepath.Join(tmp, "out"))
			eventually(t, "it waits", notEmpty(filepath.Join(tmp, "here")))
			p.terminate(t, tmp)
			if s := c.State(t); len(s.Namespaces) != 1 { // and with it what is in it
				t.Errorf("left: namespaces %v", s.Namespaces)
			}
		})
	}
}

// printing are commands that print in the end.
var printing = []string{"report {dir}", "report --format csv {dir}", "compare {dir} {dir}", "explain {dir}", "pool {series}", "index {above}", "figure", "list networks", "plan -n bridge",
	"run -n host -p udp-rr --blocks 1 --duration 10ms --warmup 0s -o {series}2", "doctor", "engine serve 127.0.0.1:0", "cite {dir}", "reproduce",
	"bisect settings {dir} {dir}", "schema", "version", "trace -n bridge"}

// A reader of its output that has stopped reading does not keep weir.
func TestTermPrinting(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	above := t.TempDir()
	series := filepath.Join(above, "out")
	finish(t, weir("", "run", "-n", "host,bridge", "-p", "udp-rr", "--blocks", "2", "--duration", "10ms", "--warmup", "0s", "--runs", "2", "-o", series))
	dir := filepath.Join(series, "001")
	in := strings.NewReplacer("{dir}", dir, "{series}", series, "{above}", above)
	for _, line := range printing {
		args := strings.Fields(in.Replace(line))
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			p := &process{mark: "WEIR_TEST_MARK=" + tmp}
			p.Cmd = weir(p.mark, args...)
			p.Stdout = full(t)
			said, err := os.Create(filepath.Join(tmp, "stderr"))
			if err != nil {
				t.Fatal(err)
			}
			defer said.Close()
			p.Stderr = said
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Process.Kill() }) // normally it has already ended
			eventually(t, "it prints", p.prints)
			p.terminate(t, tmp)
		})
	}
}

// full returns a pipe without room, which nobody reads.
func full(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	size, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	return w
}

// prints reports whether a thread of p, or of what p has started, is in write(2) to its standard output.
func (p *process) prints() bool {
	for _, line := range withEnv(p.mark) {
		pid, _, _ := strings.Cut(line, ":")
		calls, _ := filepath.Glob("/proc/" + pid + "/task/*/syscall") // the pattern is a constant
		for _, file := range calls {
			b, _ := os.ReadFile(file) // the thread can be gone
			if strings.HasPrefix(string(b), fmt.Sprintf("%d 0x1 ", unix.SYS_WRITE)) {
				return true
			}
		}
	}
	return false
}

// A second signal ends it at once, and leaves nothing behind either.
func TestTermTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	tmp := t.TempDir()
	program(t, filepath.Join(tmp, "bin", "ssh"), strings.ReplaceAll(stuck, "{tmp}", tmp))
	p := startIn(t, tmp, "run", "--ssh", "a,b", "-n", "host", "-p", "udp-rr", "-o", filepath.Join(tmp, "out"))
	eventually(t, "it waits", notEmpty(filepath.Join(tmp, "here")))
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		if err := p.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.status(t); got != int(failure.Interrupted) {
		t.Errorf("status %d", got)
	}
}

// SIGQUIT ends it at once with a word, and no trace of this program's own workings.
func TestQuit(t *testing.T) {
	needLab(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	p := start(t, nil, long(dir)...)
	eventually(t, "a trial is recorded", notEmpty(filepath.Join(dir, "results.jsonl")))
	if err := p.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if got := p.status(t); got != int(failure.Interrupted) || strings.Contains(p.stderr.String(), "goroutine") || !strings.Contains(p.stderr.String(), "weir: interrupted by signal 3 (quit)") {
		t.Errorf("status %d\n%s", got, &p.stderr)
	}
}
