package profile

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// period is the CPU's clock between samples. It is not a multiple or a part of the scheduler's ticks: threads
	// that begin or end with a tick would always or never be met.
	period = 1003 * time.Microsecond
	// ringSize holds a Window: a sample of 40 calls takes 350 bytes, and 2,000 of them 700 kB.
	ringSize = 2 << 20
	// maxRecord is the longest sample: a header, 127 calls (kernel.perf_event_max_stack) and their marker.
	maxRecord = 1100
)

// A Recorder samples the CPUs of this machine from Record to Stop. It is not safe for concurrent use.
type Recorder struct {
	rings  []ring
	shared bool // other programs use the machine
}

// A ring is the buffer that the kernel fills with the samples of one CPU. Nobody reads it during the
// window, so that no reader runs in it; it is used once, so that it never wraps.
type ring struct {
	fd   int
	page *unix.PerfEventMmapPage // its first page
	all  []byte
	data []byte
}

// Record begins to sample these CPUs. On a shared machine, only the engine's processes and the kernel's work for
// packets count. The caller ends it with Stop. Its error says what to do.
func Record(cpus []int, shared bool) (*Recorder, error) {
	r := &Recorder{shared: shared}
	for _, cpu := range cpus {
		one, err := openRing(cpu)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.rings = append(r.rings, one)
	}
	if err := r.each(unix.PERF_EVENT_IOC_ENABLE); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// Check returns why this process cannot profile these CPUs, and what to do. It opens all of them: locked memory is
// limited for all buffers together.
func Check(cpus []int) error {
	r, err := Record(cpus, false)
	if err != nil {
		return err
	}
	_, err = readSymbols()
	return errors.Join(err, r.close())
}

// openRing opens a stopped event: the clock of a CPU, whatever runs on it, in the kernel and outside.
func openRing(cpu int) (ring, error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: uint64(period), Sample_type: sampleType,
		Bits:    unix.PerfBitDisabled | unix.PerfBitExcludeCallchainUser | unix.PerfBitUseClockID | unix.PerfBitWatermark,
		Clockid: unix.CLOCK_MONOTONIC,
		Wakeup:  ringSize, // nobody waits for the buffer to fill
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return ring{}, refused(err)
	}
	all, err := unix.Mmap(fd, 0, os.Getpagesize()+ringSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return ring{}, fmt.Errorf("map %d bytes of samples of CPU %d: %w; allow more locked memory (ulimit -l, or sysctl kernel.perf_event_mlock_kb)", ringSize, cpu, err)
	}
	return ring{fd, (*unix.PerfEventMmapPage)(unsafe.Pointer(&all[0])), all, all[os.Getpagesize():]}, nil
}

// refused explains the kernel's refusal. Events of a whole CPU need CAP_PERFMON in the machine's own user
// namespace or perf_event_paranoid of 0 or less (perf_allow_cpu, include/linux/perf_event.h).
func refused(err error) error {
	switch {
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOENT):
		return fmt.Errorf("perf_event_open: %w: this kernel has no CONFIG_PERF_EVENTS; profile with another one", err)
	case !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM):
		return fmt.Errorf("perf_event_open: %w", err)
	}
	paranoid := "unknown"
	if b, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); err == nil {
		paranoid = strings.TrimSpace(string(b))
	}
	return fmt.Errorf("perf_event_open: %w: kernel.perf_event_paranoid is %s, and weir has no CAP_PERFMON; run as root, or as root once: sysctl -w kernel.perf_event_paranoid=0", err, paranoid)
}

func readSymbols() (symbols, error) {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, fmt.Errorf("the kernel's functions have no names: %w", err)
	}
	defer f.Close()
	all, err := parseSymbols(f)
	if errors.Is(err, errHidden) {
		restrict, _ := os.ReadFile("/proc/sys/kernel/kptr_restrict") // only for the message
		err = fmt.Errorf("%w: kernel.kptr_restrict is %s; as root once: sysctl -w kernel.kptr_restrict=0", err, strings.TrimSpace(string(restrict)))
	}
	return all, err
}

// errNoWindow means that a trial ended without the marks of its window.
var errNoWindow = errors.New("the window has no marks")

// Stop ends the sampling, releases the buffers, and returns the samples between two moments of CLOCK_MONOTONIC.
func (r *Recorder) Stop(from, to time.Duration) (_ *Profile, err error) {
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.each(unix.PERF_EVENT_IOC_DISABLE); err != nil {
		return nil, err
	}
	if to <= from {
		return nil, errNoWindow
	}
	var all []sample
	for i, one := range r.rings {
		b, err := one.take()
		if err == nil {
			var more []sample
			more, err = samples(b)
			all = append(all, more...)
		}
		if err != nil {
			return nil, fmt.Errorf("samples of CPU %d of %d: %w", i+1, len(r.rings), err)
		}
	}
	names, err := readSymbols() // now, because a network can have loaded modules
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s sample) bool { return s.at < from || s.at > to })
	c := collector{names, r.shared, map[uint32]string{}, map[string]int{}}
	end := c.end(all, to)
	for _, s := range all {
		if s.at <= end {
			c.add(s)
		}
	}
	return &Profile{Duration: end - from, Period: period, Stacks: c.stacks()}, nil
}

func (r *Recorder) each(order uint) error {
	for _, one := range r.rings {
		if err := unix.IoctlSetInt(one.fd, order, 0); err != nil {
			return fmt.Errorf("switch the samples of a CPU on or off: %w", err)
		}
	}
	return nil
}

func (r *Recorder) close() error {
	var errs []error
	for _, one := range r.rings {
		errs = append(errs, unix.Munmap(one.all), unix.Close(one.fd))
	}
	r.rings = nil
	return errors.Join(errs...)
}

// take returns the records of a stopped event.
func (one ring) take() ([]byte, error) {
	head, size := atomic.LoadUint64(&one.page.Data_head), uint64(len(one.data)) // the kernel counts from the first use
	if head > size-maxRecord {
		return nil, fmt.Errorf("the buffer of %d bytes is full, so samples were lost", size)
	}
	return one.data[:head], nil
}

// A collector turns samples into stacks.
type collector struct {
	symbols   symbols
	shared    bool
	processes map[uint32]string
	counts    map[string]int // by frames, joined by separator
}

// end returns when the window ended: at the last sample of the client's busiest thread, which ends with it. On a busy
// machine, its mark arrives much later. Without a busy client it is when the sampling stopped.
func (c *collector) end(all []sample, stopped time.Duration) time.Duration {
	count, last := map[uint32]int{}, map[uint32]time.Duration{}
	busiest := uint32(0)
	for _, s := range all {
		if c.process(s) != client {
			continue
		}
		count[s.tid]++
		last[s.tid] = max(last[s.tid], s.at)
		if count[s.tid] > count[busiest] {
			busiest = s.tid
		}
	}
	if count[busiest] < busy {
		return stopped
	}
	return last[busiest]
}

// busy is the fewest samples of a thread whose last one ends the window: the next one would follow within a
// few percent of the window.
const busy = 50

// add counts a sample. Outside this PID namespace, and on a shared machine, it keeps only the engine and what works for
// packets: idle CPUs and programs of others have nothing to do with the run.
func (c *collector) add(s sample) {
	process := c.process(s)
	if int(s.pid) == os.Getpid() || c.shared && process != client && process != server && process != Kernel { // this process only coordinates
		return
	}
	frames := []string{process}
	for i, at := range slices.Backward(s.calls) {
		if i > 0 {
			at-- // a call returns past itself, which can be in the next function
		}
		if name := c.symbols.name(at); name != "" {
			frames = append(frames, name)
		}
	}
	if process == Kernel && !forPackets(frames) {
		return
	}
	c.counts[strings.Join(frames, separator)]++
}

// separator is in no name of a function, nor in those of processes.
const separator = "\n"

func (c *collector) stacks() (all []Stack) {
	for joined, n := range c.counts {
		all = append(all, Stack{strings.Split(joined, separator), n})
	}
	slices.SortFunc(all, func(a, b Stack) int { return slices.Compare(a.Frames, b.Frames) })
	return all
}

// forPackets reports whether calls outside all processes of the run work for packets: a thread of the kernel, or an
// idle CPU, in network softirqs, vhost, or WireGuard. Programs of others call the same functions for theirs.
func forPackets(frames []string) bool {
	return slices.ContainsFunc(frames, func(f string) bool {
		return f == "run_ksoftirqd" || f == "do_idle" || f == "kthread" || strings.HasPrefix(f, "vhost_")
	}) && slices.ContainsFunc(frames, func(f string) bool {
		return f == "net_rx_action" || f == "net_tx_action" || strings.HasPrefix(f, "vhost_") || strings.HasPrefix(f, "wg_")
	})
}

func (c *collector) process(s sample) string {
	if s.outside() {
		return Kernel
	}
	name, known := c.processes[s.pid]
	if !known {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.pid))
		if name = program(args); c.shared && len(args) == 0 { // a thread of the kernel, which no PID namespace hides
			name = Kernel
		}
		c.processes[s.pid] = name
	}
	return name
}

// program names a process by its arguments: client and server of the trial, "weir relay", "ovs-vswitchd".
func program(args []byte) string {
	argv := strings.Split(strings.ToValidUTF8(string(args), "?"), "\x00")
	name := path.Base(strings.TrimSpace(argv[0]))
	if name == "." {
		return "a process that has ended"
	}
	for _, a := range argv[1:min(3, len(argv))] {
		if name != "weir" && name != "weir engine" || a == "" || strings.Trim(a, "abcdefghijklmnopqrstuvwxyz") != "" {
			break
		}
		name += " " + a
	}
	switch name {
	case "weir engine agent":
		return client
	case "weir engine serve":
		return server
	}
	return strings.ReplaceAll(name, separator, " ")
}
