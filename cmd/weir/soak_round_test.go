package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

// A round is a scene that plays: one results directory, or one lab.
type round struct {
	scene
	t     *testing.T
	rng   *rand.Rand
	count *tally

	mark     string // an entry in the environment of all that weir starts here
	out      string // results directory
	run      string // directory for sockets
	state    stateDirs
	devices  string          // of this machine
	before   map[string]bool // processes of the machines, on a stage of its own
	machine  inventory       // of a machine that is the run's alone
	recorded map[string]bool // trials that were measured, by run and ID
	job      string          // of a run that goes on in the cluster
	removed  bool            // the directory, under the last command
	pipe     *os.File        // that the last command prints to; mend ends it
	mend     func()
}

func newRound(t *testing.T, s scene, seed uint64, count *tally) *round {
	tmp := t.TempDir()
	r := &round{scene: s, t: t, rng: rand.New(rand.NewPCG(seed, 1)), count: count, mark: "WEIR_TEST_MARK=" + tmp, out: filepath.Join(tmp, "out"), run: filepath.Join(tmp, "run"),
		state: newStateDirs(t), devices: read(t, "/proc/net/dev", 2), before: pids(), recorded: map[string]bool{}}
	if err := os.Mkdir(r.run, 0o700); err != nil {
		t.Fatal(err)
	}
	if s.stage == alone {
		take() // some tools make the kernel load modules
		r.machine = take()
	}
	if s.stage == "cluster" {
		name := fmt.Sprintf("soak-%d", seed)
		if out, err := exec.Command("kubectl", "create", "namespace", name).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		r.args = append(slices.Clone(s.args), "-N", name)
	}
	return r
}

// weir returns a command. In a cluster it is the program of the image, because both ends must have one version.
func (r *round) weir(args ...string) *process {
	p := &process{Cmd: weir(r.mark, args...), mark: r.mark}
	p.Path, _ = exec.LookPath("weir") // that TestMain has put there
	if r.stage == "cluster" {
		p.Path = os.Getenv("WEIR")
	}
	p.Env = append(p.Env, "TMPDIR="+r.state.tmp, "XDG_RUNTIME_DIR="+r.run)
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	p.WaitDelay = patience // a process that outlives weir keeps the pipe
	return p
}

// next returns the command that a user gives now.
func (r *round) next() []string {
	switch {
	case r.job != "":
		return []string{"run", "--kube", "-N", r.args[len(r.args)-1], "--attach", r.job, "-o", r.out}
	case len(r.dirs()) > 0:
		return []string{"run", "--resume", r.out}
	case r.runs > 0: // a series that has begun no run: weir asks to remove it
		if err := os.RemoveAll(r.out); err != nil {
			r.t.Fatal(err)
		}
	}
	return append([]string{"run", "-o", r.out}, r.args...)
}

// dirs returns the directories of the runs that have begun.
func (r *round) dirs() (dirs []string) {
	all := []string{r.out}
	if r.runs > 0 {
		all = nil
		for n := range r.runs {
			all = append(all, store.RunDir(r.out, n+1))
		}
	}
	for _, d := range all {
		if _, err := os.Stat(filepath.Join(d, "study.yaml")); err == nil {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// atHome reports whether the results of a run in the cluster have come: then it is over, and nothing continues it.
func (r *round) atHome() bool { return slices.Contains(r.args, "--in-cluster") && len(r.dirs()) > 0 }

// panicked matches what the Go runtime prints when a program ends by itself.
var panicked = regexp.MustCompile(`(?m)^(panic: |fatal error: |goroutine \d+ \[|runtime: )`)

// start runs a command that b strikes at a random moment, and checks how it ends and that nothing is left. A lab
// stays. start returns its status.
func (r *round) start(args []string, b *blow) int {
	t := r.t
	t.Helper()
	p, at := r.weir(args...), time.Duration(r.rng.Int64N(int64(r.span)))
	ready := true
	if b.prepare != nil {
		ready = b.prepare(r, p)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	var seen *traces
	var err error
	select {
	case err = <-ended:
	case <-time.After(at):
		if r.args != nil {
			now := p.traces(t, func() bool { return true })
			seen = &now
		}
		if ready && (b.strike == nil || b.strike(r, p)) {
			r.count.fault(r.name, b.name)
		}
		select {
		case err = <-ended:
		case <-time.After(slow):
			t.Errorf("%s after %v: did not end within %v: %v", b.name, at, slow, withEnv(r.mark))
			_ = p.Process.Kill()
			err = <-ended
		}
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		t.Errorf("%s after %v: something holds weir's output: %v", b.name, at, withEnv(r.mark))
	}
	if r.mend != nil {
		r.mend()
		r.mend = nil
	}
	if m := regexp.MustCompile(`the run goes on in the cluster as (\S+),`).FindSubmatch(p.stderr.Bytes()); m != nil {
		r.job = string(m[1])
	}
	status := p.ProcessState.ExitCode()
	if r.removed && status == 2 && bytes.Contains(p.stderr.Bytes(), []byte("o run to resume")) { // it was gone before weir looked
		status = 1
	}
	if r.job != "" && (status == 0 || status == 1 || bytes.Contains(p.stderr.Bytes(), []byte("the coordinator has ended"))) {
		r.job = ""
	}
	if panicked.Match(p.stderr.Bytes()) || !slices.Contains([]int{-1, 0, 1, 3, 4}, status) && args[0] == "run" {
		t.Errorf("weir %s; %s after %v: status %d\n%s", strings.Join(args, " "), b.name, at, status, &p.stderr)
	}
	if b.after != nil {
		b.after(r, p)
	}
	if r.args != nil {
		r.gone(seen)
	}
	t.Logf("%s; %s after %v: status %d", strings.Join(args, " "), b.name, at, status) // shown if the round goes wrong
	return status
}

// peace runs a command to its end and checks its status.
func (r *round) peace(args []string, want ...int) {
	r.t.Helper()
	p := r.weir(args...)
	late := time.AfterFunc(slow, func() { _ = p.Process.Kill() })
	defer late.Stop()
	_ = p.Run() // the status is checked
	if got := p.ProcessState.ExitCode(); !slices.Contains(want, got) || panicked.Match(p.stderr.Bytes()) {
		r.t.Errorf("weir %s: status %d, want %v\n%s", strings.Join(args, " "), got, want, &p.stderr)
	}
}

// gone waits until nothing is left of weir: processes, mounts, control groups, files, devices.
func (r *round) gone(seen *traces) {
	t := r.t
	t.Helper()
	eventually(t, "all processes are gone", func() bool { return len(withEnv(r.mark)) == 0 })
	if seen != nil {
		seen.gone(t)
	}
	r.state.empty(t)
	if now := read(t, "/proc/net/dev", 2); now != r.devices {
		t.Errorf("devices were %s, are %s", r.devices, now)
	}
	r.machine.same(t)
	if r.stage == "hosts" {
		var left []string
		within(t, slow, "the machines are idle", func() bool {
			left = slices.DeleteFunc(r.others(), func(pid string) bool { return !exists("/proc/" + pid) })
			files, _ := filepath.Glob("/proc/[0-9]*/root/tmp/weir-*")
			for _, f := range files {
				if comm, _ := os.ReadFile(strings.Join(strings.SplitN(f, "/", 4)[:3], "/") + "/comm"); strings.HasPrefix(string(comm), "sshd") {
					left = append(left, f)
				}
			}
			return len(left) == 0
		})
	}
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// intact fails if a trial was lost or recorded twice.
func (r *round) intact() {
	t := r.t
	t.Helper()
	now := map[string]bool{}
	for _, dir := range r.dirs() {
		c, err := store.Read(dir)
		if err != nil {
			t.Error(err)
		}
		for _, p := range c.Problems {
			if strings.Contains(p.Error(), "occurs twice") {
				t.Error(p)
			}
		}
		for _, res := range c.Results {
			if res.Status != record.Skipped && res.Status != record.Failed {
				now[filepath.Base(dir)+"/"+res.Trial] = true
			}
		}
	}
	for id := range r.recorded {
		if !now[id] {
			t.Errorf("trial %s was lost", id)
		}
	}
	r.recorded = now
}

// finish ends the run in peace, and checks that it has each trial once, with its raw bytes, and a report.
func (r *round) finish() {
	t := r.t
	t.Helper()
	if !r.atHome() {
		r.peace(r.next(), 0, 1) // 1: a trial of a few milliseconds can fail on a busy machine
	}
	r.gone(nil)
	r.intact()
	dirs := r.dirs()
	if len(dirs) != max(r.runs, 1) {
		t.Errorf("%d runs, want %d", len(dirs), max(r.runs, 1))
	}
	for _, dir := range dirs {
		c, err := store.Read(dir)
		if err != nil || len(c.Problems) > 0 || len(c.Results) != r.trials {
			t.Errorf("%s: %d trials, want %d; problems %v, %v", dir, len(c.Results), r.trials, c.Problems, err)
		}
		raw := store.OpenRaw(dir)
		for _, res := range c.Results {
			for _, name := range []string{"commands.json", "client.out"} {
				if b, err := raw.Read(res.Trial, name); res.Status == record.OK && (err != nil || b == nil) {
					t.Errorf("%s: trial %s has no %s: %v", dir, res.Trial, name, err)
				}
			}
		}
		if err := raw.Close(); err != nil {
			t.Error(err)
		}
		r.count.Lock()
		r.count.Trials[r.name] += len(c.Results)
		r.count.Unlock()
	}
	_ = filepath.WalkDir(r.out, func(name string, d fs.DirEntry, err error) error { // an error is in the next check
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("left %s", name)
		}
		return err
	})
	r.peace([]string{"report", r.out}, 0, min(r.runs, 1)) // 1: nothing to pool, if trials failed in both runs
}

// emptied is how long an agent waits for a weir that was killed before it reached the agent, and some.
const emptied = 12 * time.Minute

// emptyCluster waits until nothing that weir made is in the cluster.
func emptyCluster(t *testing.T) {
	t.Helper()
	var left []byte
	defer func() { t.Logf("left in the cluster: %s", left) }()
	within(t, emptied, "the cluster is empty", func() bool {
		time.Sleep(time.Second) // each look is a process
		var err error
		left, err = exec.Command("kubectl", "get", "jobs,pods,services,secrets", "-A", "-l", "app.kubernetes.io/managed-by=weir", "-o", "name").Output()
		return err == nil && len(left) == 0
	})
}
