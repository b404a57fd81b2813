// Package local is this machine, for the targets that act on it themselves: its
// facts and counters, its processors, and the end of whatever a program started.
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
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
)

// Host returns the machine that this process runs on.
func Host() *target.Host {
	root := os.DirFS("/")
	id := rand.Text() // without a boot ID every process counts as a machine
	if boot, err := fs.ReadFile(root, "proc/sys/kernel/random/boot_id"); err == nil {
		id = strings.TrimSpace(string(boot))
	}
	return &target.Host{
		ID:    id,
		FS:    root,
		Facts: func(context.Context) (facts.Facts, error) { return facts.Collect(root), nil },
		Tool: func(ctx context.Context, t facts.ToolInfo) (path, version string, err error) {
			return t.Find(ctx)
		},
		Sample: func(_ context.Context, sources ...string) (target.Reading, error) {
			return Sample(root, sources...), nil
		},
	}
}

// origin is where the clock of readings begins.
var origin = time.Now()

// Sample reads sources through root, as of the moment when it begins.
func Sample(root fs.FS, sources ...string) target.Reading {
	r := target.Reading{At: time.Since(origin)}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err == nil { // it fails only for a bad argument
		r.Own = time.Duration(own.Utime.Nano() + own.Stime.Nano()).Seconds()
	}
	c, errs := sample.Named(root, sources...)
	r.Counters = c
	for _, err := range errs {
		r.Missing = append(r.Missing, err.Error())
	}
	return r
}

// CPUs lists the processors that this process can use, sorted: a container can have
// fewer than the machine.
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

// Pin restricts the calling thread, and what it starts, to cpus; none is no
// restriction. The caller has locked the thread and throws it away.
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

// Patience is how long a program can take to end after SIGTERM, and how long what it
// started can hold its output open after its end.
const Patience = 2 * time.Second

// Command prepares a program that gets a process group of its own, which ends when ctx
// does, and adds env and a tag to this process's environment. The program "weir" is
// this one.
func Command(ctx context.Context, argv, env []string) (*exec.Cmd, Tag) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	if argv[0] == "weir" {
		cmd.Path, cmd.Err = "/proc/self/exe", nil
	} else if path := facts.Find(argv[0]); path != "" {
		cmd.Path, cmd.Err = path, nil
	}
	tag := Tag("WEIR_PROGRAM=" + rand.Text())
	cmd.Env = append(append(os.Environ(), env...), string(tag))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = Patience
	return cmd, tag
}

// Start starts cmd on cpus, from a thread of its own, which ends with its affinity;
// none is no restriction.
func Start(cmd *exec.Cmd, cpus []int) error {
	if len(cpus) == 0 {
		return cmd.Start()
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread is thrown away
		err := Pin(cpus)
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	return <-started
}

// A Tag is an entry of a program's environment, which everything inherits that the
// program starts.
type Tag string

// End kills what is left of a program that has ended: the processes of its group, and
// those with the tag, whatever group or session they have moved to, as the ranks that
// mpirun starts do. It looks again until it finds none, because they can be starting
// others.
func (t Tag) End(group int) {
	end(-group)
	for found := true; found; {
		found = false
		files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is a constant
		for _, f := range files {
			env, _ := os.ReadFile(f) // the process can be gone by now
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

// end kills a process, or a group if id is negative, and waits until it is reaped: here
// if it is a child of this process, or else by its parent. Until then its ID is in use.
func end(id int) {
	for late := time.Now().Add(reapTime); syscall.Kill(id, syscall.SIGKILL) == nil && time.Now().Before(late); {
		if pid, err := syscall.Wait4(id, nil, syscall.WNOHANG, nil); pid <= 0 && !errors.Is(err, syscall.EINTR) {
			time.Sleep(time.Millisecond) // the kernel is still ending it, or a parent of its own reaps it
		}
	}
}

// reapTime bounds the wait for the dead that another process must reap.
const reapTime = time.Second
