package profile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// A sample is one sample of a CPU.
type sample struct {
	pid, tid uint32        // 0 for threads that this PID namespace hides, and for idle CPUs; gone for threads at their end
	at       time.Duration // by CLOCK_MONOTONIC
	calls    []uint64      // addresses in the kernel, innermost first
}

// gone is the PID of a thread of any namespace that has ended, except for its last switch (perf_event_pid_type,
// kernel/events/core.c).
const gone = ^uint32(0)

// outside reports whether a sample is of no process in this PID namespace.
func (s sample) outside() bool { return s.pid == 0 || s.pid == gone }

// sampleType is what the kernel puts into a sample, in the order of the fields above.
const sampleType = unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN

// headerSize is that of struct perf_event_header, and fixedSize that of a sample's fields before the calls.
const (
	headerSize = 8
	fixedSize  = 24
)

// firstContext is the smallest marker in a chain of calls (enum perf_callchain_context,
// include/uapi/linux/perf_event.h): the kernel puts one before the addresses of each mode.
const firstContext = ^uint64(4094)

// errThrottled means that samples are missing, at a time that depends on the load.
var errThrottled = errors.New("the kernel held samples back; as root: sysctl -w kernel.perf_event_max_sample_rate=100000")

// samples reads the records of a ring buffer, in the machine's byte order.
func samples(b []byte) (all []sample, err error) {
	for at := 0; at < len(b); {
		rest := b[at:]
		if len(rest) < headerSize {
			return nil, fmt.Errorf("perf record at byte %d: %d bytes are left, a header has %d", at, len(rest), headerSize)
		}
		kind, size := binary.NativeEndian.Uint32(rest), int(binary.NativeEndian.Uint16(rest[6:]))
		if size < headerSize || size > len(rest) {
			return nil, fmt.Errorf("perf record at byte %d: its size is %d, %d are left", at, size, len(rest))
		}
		at += size
		switch kind {
		case unix.PERF_RECORD_THROTTLE:
			return nil, errThrottled
		case unix.PERF_RECORD_SAMPLE:
		default: // what an earlier, full buffer lost: take fails for a full one
			continue
		}
		body := rest[headerSize:size]
		if len(body) < fixedSize {
			return nil, fmt.Errorf("perf sample of %d bytes: want at least %d", len(body), fixedSize)
		}
		n, chain := binary.NativeEndian.Uint64(body[16:]), body[fixedSize:]
		if n > uint64(len(chain)/8) {
			return nil, fmt.Errorf("perf sample of %d calls in %d bytes", n, len(chain))
		}
		s := sample{pid: binary.NativeEndian.Uint32(body), tid: binary.NativeEndian.Uint32(body[4:]), at: time.Duration(binary.NativeEndian.Uint64(body[8:]))}
		for i := range int(n) {
			if ip := binary.NativeEndian.Uint64(chain[8*i:]); ip < firstContext {
				s.calls = append(s.calls, ip)
			}
		}
		all = append(all, s)
	}
	return all, nil
}
