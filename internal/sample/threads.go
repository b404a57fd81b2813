package sample

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"
)

// Sources of a Threads. It has a state, so only its owner, a host, knows them.
const (
	OfThreads     = "threads"        // the CPU time of the threads found last
	FindThreads   = "find-threads"   // the same, after finding all
	NewThreads    = "new-threads"    // the same, after finding new ones
	ForgetThreads = "forget-threads" // closes their files; no counters
)

const (
	// mostThreads and mostKernelThreads bound the threads that are read: the cost of reading, and the open
	// files.
	mostThreads       = 64
	mostKernelThreads = 16
	// findShare: finding again takes at most one part in so many of the time.
	findShare = 200
	// maxThreadName bounds names, bytes: programs choose them.
	maxThreadName = 60
)

// Threads reads the CPU time of a machine's threads often and cheaply: Find lists all processes and opens
// a file for each of the threads that used most, Read only reads these files again (1 µs each). It is safe for
// concurrent use.
//
// Counters are in seconds and named task.PID.TID.NS.NAME. NS is the inode of the process's network
// namespace, 0 if unknown; PID and NS of a kernel thread are 0. NAME is the process, or process/thread for
// a thread with another name, without trailing numbers, which differ between runs; kernel threads of a CPU
// keep theirs.
type Threads struct {
	root   fs.FS // /, with processes below proc
	kernel fs.FS // a /proc that shows kernel threads; nil if root's does

	mu    sync.Mutex
	open  map[string]*thread // by path of the file
	known map[string]process // by directory, since the last Find
	last  map[string]float64 // CPU time by path of the file, likewise
	ticks bool               // the kernel has no schedstat
	next  time.Time          // finding again is too expensive before
	buf   []byte
}

// WatchThreads returns a reader of the threads below root. kernel is a /proc from outside this PID
// namespace, or nil: a PID namespace hides kernel threads.
func WatchThreads(root, kernel fs.FS) *Threads {
	return &Threads{root: root, kernel: kernel, open: map[string]*thread{}, known: map[string]process{}, last: map[string]float64{}, buf: make([]byte, 512)}
}

type thread struct {
	file fs.File
	key  string
}

// A process holds what does not change while a process runs one program. One that is met for the first time
// can have its parent's name, until exec(2); seen twice, it is sure.
type process struct {
	name, comm, ns string
	sure           bool
}

// A candidate is a thread that Find has met.
type candidate struct {
	root      fs.FS
	file, key string
	kernel    bool
	used      float64 // seconds
	grown     float64 // since FindNew or Find last saw it, or all of used
}

// Find lists the threads of all processes and of the kernel, and opens those that used most for Read.
func (t *Threads) Find() error { return t.list(true) }

// FindNew opens the threads that used most since the last Find or FindNew, new ones included. It costs
// less than Find, because it skips the kernel's threads and the names of processes seen twice. It does nothing
// if that would cost more than 0.5 % of a CPU.
func (t *Threads) FindNew() error { return t.list(false) }

func (t *Threads) list(afresh bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	begin := time.Now()
	if !afresh && begin.Before(t.next) {
		return nil
	}
	if afresh {
		clear(t.known)
		clear(t.last)
		t.ticks = !t.hasSchedstat()
	}
	err := t.find(afresh)
	if t.next = begin; !afresh {
		t.next = begin.Add(findShare * time.Since(begin))
	}
	return err
}

// Read returns the counters of the threads that the last Find found. Those that have ended are missing.
func (t *Threads) Read() Counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := make(Counters, len(t.open))
	for name, th := range t.open {
		used, err := t.time(th)
		if err != nil { // it has ended (fs/proc/base.c, proc_single_show)
			t.drop(name)
			continue
		}
		c[th.key] = used
	}
	return c
}

// Forget closes all files. Find opens them again.
func (t *Threads) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range t.open {
		t.drop(name)
	}
	clear(t.known)
}

func (t *Threads) drop(name string) {
	t.open[name].file.Close()
	delete(t.open, name)
}

func (t *Threads) find(afresh bool) error {
	var all []candidate
	add := func(c candidate) { all = append(all, c) }
	err := eachNumber(t.root, "proc", func(pid string) error { return t.process("proc/"+pid, add) })
	if t.kernel != nil && afresh {
		err = errors.Join(err, eachNumber(t.kernel, ".", func(pid string) error { return t.kernelThread(t.kernel, pid, add) }))
	}
	for i := range all {
		c := &all[i]
		c.grown, t.last[c.file] = c.used-t.last[c.file], c.used
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.grown, a.grown), cmp.Compare(b.used, a.used), cmp.Compare(a.file, b.file))
	})
	keep, left := map[string]bool{}, map[bool]int{false: mostThreads, true: mostKernelThreads}
	for _, c := range all {
		if left[c.kernel] > 0 && t.keep(c) == nil {
			keep[c.file] = true
			left[c.kernel]--
		}
	}
	for name, th := range t.open {
		if !keep[name] && (afresh || !strings.HasPrefix(th.key, kernelTask)) {
			t.drop(name)
		}
	}
	return err
}

// keep opens the counter of a thread unless it is open.
func (t *Threads) keep(c candidate) error {
	if th := t.open[c.file]; th != nil {
		th.key = c.key // a program can have replaced itself
		return nil
	}
	f, err := c.root.Open(c.file)
	if err != nil {
		return err
	}
	if _, ok := f.(io.ReaderAt); !ok {
		return errors.Join(fmt.Errorf("%s: cannot be read again", c.file), f.Close())
	}
	t.open[c.file] = &thread{f, c.key}
	return nil
}

// clock returns the file with the CPU time of the thread in dir.
func (t *Threads) clock(dir string) string {
	if t.ticks {
		return dir + "/stat"
	}
	return dir + "/schedstat"
}

// once reads the CPU time of a thread that need not be open.
func (t *Threads) once(c candidate) (float64, error) {
	if th := t.open[c.file]; th != nil {
		return t.time(th)
	}
	b, err := fs.ReadFile(c.root, c.file)
	if err != nil {
		return 0, err
	}
	return threadTime(b, t.ticks)
}

// hasSchedstat reports whether threads have a clock of ns. Without CONFIG_SCHED_INFO there is no file, and
// it can be switched off (proc_pid_schedstat, fs/proc/base.c).
func (t *Threads) hasSchedstat() bool {
	b, err := fs.ReadFile(t.root, "proc/self/schedstat")
	return err == nil && !bytes.HasPrefix(b, []byte("0 "))
}

// time reads a thread's CPU time in seconds. The kernel updates the time of a running thread at ticks and
// when it stops running, so it is up to a tick old (update_curr, kernel/sched/fair.c).
func (t *Threads) time(th *thread) (float64, error) {
	n, err := th.file.(io.ReaderAt).ReadAt(t.buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return threadTime(t.buf[:n], t.ticks)
}
