package engine

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
	"github.com/weir-bench/weir/internal/unit"
)

// A hog keeps CPUs busy for a share of the time, as a computing program does: one thread per CPU,
// which stays there. In every period a thread computes until it has used its share in CPU time or
// the period is over, then sleeps. It does not make up for lost time in later periods.
//
// It has default priority, so if others want the CPU too, the scheduler gives it only its part. For
// every question it reports its CPU time and begins a new period on all CPUs. It ends with the
// questions.
type hog struct {
	share  float64 // of a period, above 0 and at most 1
	period time.Duration
	begun  atomic.Int64 // when the last ordered period began
	stop   *sock.Stopper
}

const (
	// defaultPeriod is longer than a time slice of the scheduler (about 3 ms, base_slice_ns of
	// kernel/sched/fair.c), so a hog that had to wait still gets its share, and short against a
	// measurement. It is not a simple multiple of the tick (1, 3.3, 4 or 10 ms): the kernel samples
	// CPU time at every tick, and would always or never see a hog in step with it.
	defaultPeriod = 10900 * time.Microsecond
	minPeriod     = time.Millisecond
	// A hog checks its CPU time every glance, and for a new period every hogNap.
	glance = 20 * time.Microsecond
	hogNap = time.Millisecond
)

func hogMain(ctx context.Context, args []string, out events, help io.Writer) error {
	h := hog{stop: new(sock.Stopper)}
	var cpus []int
	fs := flag.NewFlagSet("hog", flag.ContinueOnError)
	fs.Func("share", "share of the time of every CPU, such as 50%", func(s string) (err error) {
		if h.share, err = unit.ParsePercent(s); err == nil && !(h.share > 0 && h.share <= 1) {
			err = fmt.Errorf("invalid share %s: want more than 0%% and at most 100%%", s)
		}
		return err
	})
	fs.DurationVar(&h.period, "period", defaultPeriod, "period; the CPU is busy at its beginning, for the share")
	cpuFlag(fs, &cpus, "the CPUs (default all allowed)")
	if _, err := parseFlags(fs, args, help, "Take a share of the time of every CPU."); err != nil {
		return err
	}
	if h.share == 0 {
		return fmt.Errorf("%w: hog: --share is missing, such as 50%%", ErrUsage)
	}
	if err := event.Within("period", h.period, minPeriod, wire.MaxTime, ""); err != nil {
		return fmt.Errorf("%w: hog: %w", ErrUsage, err)
	}
	if len(cpus) == 0 {
		var err error
		if cpus, err = sock.OwnCPUs(); err != nil {
			return err
		}
	}
	return h.run(ctx, cpus, out)
}

func (h *hog) run(ctx context.Context, cpus []int, out events) error {
	sock.RoomFor(len(cpus))
	var threads []<-chan error
	pinned := make(chan struct{}, len(cpus))
	for _, cpu := range cpus {
		threads = append(threads, sock.OnThread(func() error {
			var one unix.CPUSet
			one.Set(cpu)
			if err := unix.SchedSetaffinity(0, &one); err != nil {
				return fmt.Errorf("engine: hog: stay on CPU %d: %w: this process is not allowed to use it, or it does not exist", cpu, err)
			}
			pinned <- struct{}{}
			return h.burn()
		}))
	}
	var err error
	for _, t := range threads {
		select {
		case <-pinned:
		case e := <-t:
			err = cmp.Or(err, e)
		}
	}
	if err == nil {
		err = out.print(event.Ready{Event: event.KindReady, CPUs: cpus})
	}
	if err == nil {
		ended := make(chan error, 1)
		go func() {
			ended <- caught.Error(func() error { out.answer(h.count); return nil })
		}()
		select {
		case <-ctx.Done():
			err = sock.Canceled(ctx, sock.ErrStopped)
		case err = <-ended:
		}
	}
	h.stop.Stop()
	for _, t := range threads {
		err = cmp.Or(err, <-t)
	}
	return err
}

// count returns the CPU time used so far and begins a new period.
func (h *hog) count() any {
	c := event.Count{Event: event.KindCount, At: sock.Now()}
	h.begun.Store(c.At)
	var err error
	if c.CPU, err = cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID); err != nil {
		return event.Error{Event: event.KindError, Error: err.Error()}
	}
	return c
}

// burn computes for the share of every period. It must run on a thread of its own.
func (h *hog) burn() error {
	begin, last := sock.Now(), int64(0)
	for !h.stop.Stopped() {
		used, err := cpuTime(unix.CLOCK_THREAD_CPUTIME_ID)
		if err != nil {
			return err
		}
		budget := used + int64(h.share*float64(h.period))
		for used < budget && h.left(begin, last) > 0 {
			for until := sock.Now() + int64(glance); sock.Now() < until; {
			}
			if used, err = cpuTime(unix.CLOCK_THREAD_CPUTIME_ID); err != nil {
				return err
			}
		}
		for left := h.left(begin, last); left > 0; left = h.left(begin, last) {
			sock.HotNap(min(time.Duration(left), hogNap))
		}
		begin += int64(h.period)
		if t := sock.Now(); t-begin > int64(h.period) {
			begin = t // whole periods were lost
		}
		if told := h.begun.Load(); told > last {
			begin, last = told, told
		}
	}
	return nil
}

// left returns the rest, ns, of the period that began then: 0 if a later period was ordered or the
// hog is to stop.
func (h *hog) left(begin, last int64) int64 {
	if h.stop.Stopped() || h.begun.Load() > last {
		return 0
	}
	return begin + int64(h.period) - sock.Now()
}

// cpuTime reads a CPU-time clock, ns.
func cpuTime(clock int32) (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		return 0, fmt.Errorf("engine: hog: CPU time: %w", err)
	}
	return ts.Nano(), nil
}
