package packettrace

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
)

// ErrRefused means that this process cannot load BPF programs.
var ErrRefused = errors.New("BPF is refused")

// ringSize is the ring buffer's size in bytes, a power of two: 75,000 events, some 1,500 requests over an
// overlay.
const ringSize = 16 << 20

// A Tracer records the packets of some network namespaces at the kernel's tracepoints, while it is open.
// It needs CAP_BPF and CAP_PERFMON in the machine's own user namespace.
type Tracer struct {
	spaces  map[uint32]string
	reasons map[uint32]string
	lost    *ebpf.Map
	reader  *ringbuf.Reader
	links   []link.Link
	close   []func() error // maps and programs
}

// Record begins to record packets on devices in the namespaces spaces: nodes by inode number.
func Record(spaces map[uint32]string) (_ *Tracer, err error) {
	t := &Tracer{spaces: spaces}
	defer func() {
		if err != nil {
			t.end()
		}
	}()
	types, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, fmt.Errorf("read the kernel's types: %w; boot a kernel with CONFIG_DEBUG_INFO_BTF", err)
	}
	l, err := layoutOf(func(name string) (s *btf.Struct, err error) {
		err = types.TypeByName(name, &s)
		return s, err
	})
	if err != nil {
		return nil, err
	}
	var reasons *btf.Enum
	if types.TypeByName("skb_drop_reason", &reasons) == nil { // since Linux 5.17
		t.reasons = reasonsOf(reasons)
	}
	ring, err := t.open(&ebpf.MapSpec{Name: "weir_events", Type: ebpf.RingBuf, MaxEntries: ringSize})
	if err != nil {
		return nil, err
	}
	if t.lost, err = t.open(&ebpf.MapSpec{Name: "weir_lost", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}); err != nil {
		return nil, err
	}
	if t.reader, err = ringbuf.NewReader(ring); err != nil {
		return nil, fmt.Errorf("map the trace's buffer: %w", err)
	}
	for i, p := range points {
		if p.kind == Drop && t.reasons == nil {
			continue // its arguments are others
		}
		if err := t.attach(p, &ebpf.ProgramSpec{Name: "weir_" + string(p.kind), Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: p.name,
			License: "Dual MIT/GPL", Instructions: program(l, i, slices.Sorted(maps.Keys(spaces)), ring.FD(), t.lost.FD())}); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *Tracer) open(spec *ebpf.MapSpec) (*ebpf.Map, error) {
	m, err := ebpf.NewMap(spec)
	if err != nil {
		return nil, refused("make a BPF map", err)
	}
	t.close = append(t.close, m.Close)
	return m, nil
}

func (t *Tracer) attach(p point, spec *ebpf.ProgramSpec) error {
	prog, err := ebpf.NewProgram(spec)
	if err != nil {
		return refused("load the program for tracepoint "+p.name, err)
	}
	t.close = append(t.close, prog.Close)
	at, err := link.AttachTracing(link.TracingOptions{Program: prog})
	if err != nil {
		return refused("attach to tracepoint "+p.name, err)
	}
	t.links = append(t.links, at)
	return nil
}

// refused adds the remedy to the kernel's refusal. The verifier's has the same number, and none.
func refused(what string, err error) error {
	verifier := (*ebpf.VerifierError)(nil)
	if errors.Is(err, os.ErrPermission) && !errors.As(err, &verifier) { // the library's text guesses at limits of memory
		return fmt.Errorf("%w: %s: %w; run weir as root of the machine (CAP_BPF and CAP_PERFMON), outside of any container, and before Linux 5.11 after ulimit -l unlimited", ErrRefused, what, os.ErrPermission)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Stop ends the recording, and returns the events in order and how many did not fit the buffer.
func (t *Tracer) Stop() (events []Event, lost int, err error) {
	defer func() { err = errors.Join(err, t.end()) }()
	for _, l := range t.links {
		err = errors.Join(err, l.Close())
	}
	t.links = nil
	var missed uint64
	if err := errors.Join(err, t.lost.Lookup(uint32(0), &missed)); err != nil {
		return nil, 0, fmt.Errorf("end the trace: %w", err)
	}
	t.reader.SetDeadline(time.Now()) // everything is in the buffer
	for {
		r, err := t.reader.Read()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read the trace: %w", err)
		}
		e, err := parseRecord(r.RawSample, t.spaces, t.reasons)
		if err != nil {
			return nil, 0, fmt.Errorf("read the trace: %w", err)
		}
		events = append(events, e)
	}
	InOrder(events)
	return warmed(events), int(missed), nil
}

// warmed leaves out the warm events, and gives each Queue event the time that the one before it took.
//
// After a system call, neither a program nor what it writes to is in the CPU's caches: recording the first event of a
// way takes up to 0.5 µs, and a later one 0.2. Before every Queue event another one is recorded, which takes that
// surcharge in a time that the path does not contain.
func warmed(events []Event) (kept []Event) {
	began := map[uint64]int64{} // by packet
	for _, e := range events {
		if e.Kind == warm {
			began[e.Packet] = e.At
			continue
		}
		if at, ok := began[e.Packet]; ok && e.Kind == Queue {
			e.Warm = e.At - at
			delete(began, e.Packet)
		}
		kept = append(kept, e)
	}
	return kept
}

func (t *Tracer) end() error {
	var errs []error
	for _, l := range t.links {
		errs = append(errs, l.Close())
	}
	if t.reader != nil {
		errs = append(errs, t.reader.Close())
	}
	for _, c := range slices.Backward(t.close) {
		errs = append(errs, c())
	}
	t.links, t.reader, t.close = nil, nil, nil
	return errors.Join(errs...)
}

// InOrder sorts events by time: CPUs write into the buffer independently.
func InOrder(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int { return int(max(-1, min(1, a.At-b.At))) })
}

// nowhere is the number of no namespace: the kernel's begin with 0xf0000000 (PROC_DYNAMIC_FIRST,
// fs/proc/generic.c). 0 is what a program reads for a packet without a device.
const nowhere = 1

// Available returns the best mode for this process, and why no better one is: it loads the programs, and
// records nothing.
func Available() (mode string, why error) {
	t, err := Record(map[uint32]string{nowhere: ""})
	if err == nil {
		return ByBPF, t.end()
	}
	if tap, tapErr := openTap(); tapErr != nil {
		return ByCounters, fmt.Errorf("%w; %w", err, tapErr)
	} else if tapErr := tap.close(); tapErr != nil {
		return ByCounters, fmt.Errorf("%w; %w", err, tapErr)
	}
	return ByTaps, err
}
