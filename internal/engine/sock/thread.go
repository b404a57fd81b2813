package sock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// Tick bounds how long a blocked thread takes to notice that it should stop.
const Tick = 100 * time.Millisecond

var epoch = time.Now()

// Now returns monotonic nanoseconds. It is a vDSO call and does not allocate.
func Now() int64 { return int64(time.Since(epoch)) }

// CPU returns the CPU time of this thread so far in ns (CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)). The
// call takes about 1 µs. The time includes softirqs that ran on top of the thread, such as those that
// carry its packets across a veth, unless the kernel accounts for interrupts separately
// (CONFIG_IRQ_TIME_ACCOUNTING: update_rq_clock_task, kernel/sched/core.c).
func CPU() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // cannot fail: every thread has this clock
	return t.Nano()
}

// ProcessReading is what all threads of this process have used so far (CLOCK_PROCESS_CPUTIME_ID). Their run-queue waits are
// not known.
func ProcessReading() wire.Reading {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) // cannot fail: every process has this clock
	return wire.Reading{CPU: t.Nano(), RunDelay: -1}
}

// OnThread runs f on a thread of its own with all signals blocked. The channel yields f's error,
// then nil forever. The thread is never unlocked, so it ends with f and its signal mask reaches no
// other goroutine.
func OnThread(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		var all unix.Sigset_t
		for i := range all.Val {
			all.Val[i] = ^all.Val[i]
		}
		// With the default slack a sleep can last 50 µs too long (prctl(2)), and paced datagrams
		// would leave in bursts.
		err := cmp.Or(unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil), unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0))
		if err != nil {
			done <- fmt.Errorf("engine: thread: block signals, or set the timer slack: %w", err)
			return
		}
		done <- caught.Error(f)
	}()
	return done
}

// A Stopper stops threads, which check it with one atomic load.
type Stopper struct{ flag atomic.Bool }

// StopWith returns a Stopper that ctx sets, and a function that releases it.
func StopWith(ctx context.Context) (*Stopper, func() bool) {
	s := new(Stopper)
	return s, context.AfterFunc(ctx, s.Stop)
}

func (s *Stopper) Stop() { s.flag.Store(true) }

func (s *Stopper) Stopped() bool { return s.flag.Load() }

// ErrStopped is the error of loops that were stopped early.
var ErrStopped = errors.New("stopped")

// Canceled replaces ErrStopped with the cause of the cancellation of ctx.
func Canceled(ctx context.Context, err error) error {
	if errors.Is(err, ErrStopped) && ctx.Err() != nil {
		return fmt.Errorf("engine: %w", context.Cause(ctx))
	}
	return err
}

// SleepUntil returns nil at time t; earlier it returns an error from errs, or ErrStopped when ctx
// is canceled. It is for control, not for pacing traffic.
func SleepUntil(ctx context.Context, t int64, errs <-chan error) error {
	timer := time.NewTimer(time.Duration(t - Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-errs:
		return err
	case <-ctx.Done():
		return ErrStopped
	}
}

// Settle keeps this thread on one CPU that it can use: a server on the first, a client (last) on
// the last, so two ends with the same choice spin on different ones. restore undoes it.
func Settle(last bool) (p wire.Core, restore func(), err error) {
	cpus, err := OwnCPUs()
	if err != nil {
		return p, nil, err
	}
	all, n := setOf(cpus...), 0
	if last {
		n = len(cpus) - 1
	}
	p.CPU = cpus[n]
	one := setOf(p.CPU)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return p, nil, fmt.Errorf("spin: stay on CPU %d: %w", p.CPU, err)
	}
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it the two ends count as two machines
	p.Boot = strings.TrimSpace(string(b))
	return p, func() { _ = unix.SchedSetaffinity(0, &all) }, nil
}

// DistinctCPUs returns an error if two spinning ends share a CPU: each would wait for the other's time
// slice to end.
func DistinctCPUs(client, server wire.Core) error {
	if client.Boot == server.Boot && client.Boot != "" && client.CPU == server.CPU {
		return fmt.Errorf("spin: client and server can both use only CPU %d; give each a CPU of its own, or do not spin", client.CPU)
	}
	return nil
}

// StayOn keeps every thread of this process on the given CPUs, if any. Affinity belongs to threads
// on Linux, and a new one inherits that of its creator, so StayOn repeats until it finds only
// threads that it has seen.
func StayOn(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	set := setOf(cpus...)
	seen := map[int]bool{}
	for more := true; more; {
		more = false
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("engine: CPUs %v: %w", cpus, err)
		}
		for _, t := range tasks {
			tid, err := strconv.Atoi(t.Name())
			if err != nil || seen[tid] {
				continue
			}
			seen[tid], more = true, true
			// A thread that has ended meanwhile needs no CPU.
			if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("engine: CPUs %v: %w: this process is not allowed to use them, or they do not exist", cpus, err)
			}
		}
	}
	return nil
}

func setOf(cpus ...int) (set unix.CPUSet) {
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return set
}

// OwnCPUs lists the CPUs that this thread can use, at least one.
func OwnCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("engine: read the CPUs of this thread: %w", err)
	}
	var cpus []int
	for cpu := 0; len(cpus) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}
