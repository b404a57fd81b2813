// Package local is this machine for targets that act on it directly: facts, counters, processors,
// and the end of everything that a program started.
//
// It must not know what is run, or why.
package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
)

// Host returns this machine. Its facts have the settings of the network namespace of this process,
// which stands for those that it makes.
func Host() *target.Host {
	node := os.DirFS("/")
	root := first{node}
	id := rand.Text() // without a boot ID every process counts as its own machine
	if boot, err := fs.ReadFile(node, "proc/sys/kernel/random/boot_id"); err == nil {
		id = strings.TrimSpace(string(boot))
	}
	var kernel fs.FS
	if rootless.Inside() {
		kernel = rootless.Outside() // this PID namespace hides the kernel's threads
	}
	threads := sample.WatchThreads(node, kernel)
	return &target.Host{
		ID:    id,
		FS:    root,
		Facts: func(context.Context) (facts.Facts, error) { return facts.CollectWith(root, node), nil },
		Tool: func(ctx context.Context, t facts.ToolInfo) (path, version string, err error) {
			return t.Find(ctx)
		},
		Sample: func(_ context.Context, sources ...string) (target.Reading, error) {
			return sampleThreads(threads, node, sources), nil
		},
	}
}

// sampleThreads is Sample with the sources of threads. It reads them first: many files take longer than
// one, and At must be theirs.
func sampleThreads(threads *sample.Threads, root fs.FS, sources []string) target.Reading {
	var found error
	switch {
	case slices.Contains(sources, sample.FindThreads):
		found = threads.Find()
	case slices.Contains(sources, sample.NewThreads):
		found = threads.FindNew()
	}
	at, c := now(), sample.Counters(nil)
	var others []string
	for _, name := range sources {
		switch name {
		case sample.FindThreads, sample.NewThreads, sample.OfThreads:
			c = threads.Read()
		case sample.ForgetThreads:
			threads.Forget()
		default:
			others = append(others, name)
		}
	}
	r := Sample(root, others...)
	if c != nil {
		r.At = at
		maps.Copy(r.Counters, c)
	}
	if found != nil {
		r.Missing = append(r.Missing, found.Error())
	}
	return r
}

// now is the readings' clock: the same in all processes of a machine, because several agents can serve
// its nodes.
func now() time.Duration { return uptime + time.Since(origin) }

var origin, uptime = time.Now(), monotonic()

func monotonic() time.Duration {
	var at unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &at) // it exists everywhere
	return time.Duration(at.Nano())
}

// Sample reads sources through root, sample.OfQdisc in the calling thread's network namespace, and measures
// sample.OfCores. The reading's time is the start of the call.
func Sample(root fs.FS, sources ...string) target.Reading {
	r := target.Reading{At: now()}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err == nil { // it fails only for a bad argument
		r.Own = time.Duration(own.Utime.Nano() + own.Stime.Nano()).Seconds()
	}
	r.Counters = sample.Counters{}
	for _, source := range sources {
		c, errs := named(root, source)
		maps.Copy(r.Counters, c)
		for _, err := range errs {
			r.Missing = append(r.Missing, err.Error())
		}
		if errs == nil {
			r.Read = append(r.Read, source)
		}
	}
	return r
}

func named(root fs.FS, source string) (sample.Counters, []error) {
	var c sample.Counters
	var err error
	switch source {
	case sample.OfQdisc:
		var all []sample.Qdisc
		all, err = Qdiscs()
		c = sample.OfQdiscs(all)
	case sample.OfCores:
		c, err = cores()
	default:
		return sample.Named(root, source)
	}
	if err != nil {
		return nil, []error{err}
	}
	return c, nil
}

// CPUs lists this process's processors, sorted: a container can have fewer than the machine.
func CPUs() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	var cpus []int
	for c := 0; len(cpus) < set.Count(); c++ {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus
}

// Pin restricts the calling thread and its children to cpus; none means no restriction. The caller
// must have locked the thread and must throw it away.
func Pin(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("run on CPUs %v: %w", cpus, err)
	}
	return nil
}

// Patience bounds a program's end after SIGTERM, and its children's hold on its output after that.
const Patience = 2 * time.Second

// Command prepares a program with its own process group, which ends when ctx does, and with env and
// a tag added to this process's environment. The program "weir" is this one.
func Command(ctx context.Context, argv, env []string) (*exec.Cmd, Tag) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	if argv[0] == "weir" {
		cmd.Path, cmd.Err = "/proc/self/exe", nil
	} else if path, err := facts.Command(argv[0]); err != nil {
		cmd.Err = err
	} else if path != argv[0] {
		cmd.Path, cmd.Err = path, nil
	}
	tag := Tag("WEIR_PROGRAM=" + rand.Text())
	cmd.Env = append(append(os.Environ(), env...), string(tag))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = Patience
	return cmd, tag
}

// Start starts cmd on cpus from a temporary thread; none means no restriction.
func Start(cmd *exec.Cmd, cpus []int) error {
	if len(cpus) == 0 {
		return cmd.Start()
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread is thrown away
		err := Pin(cpus)
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	return <-started
}

// A Tag is an environment entry that all descendants of a program inherit.
type Tag string

// End kills what is left of a program that has ended: the processes of its group, and those with
// the tag in any group or session, such as the ranks that mpirun starts. It repeats until none is
// left, because they can start others.
func (t Tag) End(group int) {
	end(-group)
	for found := true; found; {
		found = false
		files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is a constant
		for _, f := range files {
			env, _ := os.ReadFile(f) // the process can be gone
			if !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+string(t)+"\x00")) {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil && pid != os.Getpid() {
				found = true
				end(pid)
			}
		}
	}
}

// end kills a process, or a group if id is negative, and waits until this process or the parent
// reaps it. Until then its ID is in use.
func end(id int) {
	for late := time.Now().Add(reapTime); syscall.Kill(id, syscall.SIGKILL) == nil && time.Now().Before(late); {
		if pid, err := syscall.Wait4(id, nil, syscall.WNOHANG, nil); pid <= 0 && !errors.Is(err, syscall.EINTR) {
			time.Sleep(time.Millisecond) // the kernel is still ending it, or its own parent reaps it
		}
	}
}

// reapTime bounds the wait for processes that another process must reap.
const reapTime = time.Second
