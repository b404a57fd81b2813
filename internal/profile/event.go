package profile

import (
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// A sample is one sample of a CPU.
type sample struct {
	pid, tid uint32        // 0 for threads that this PID namespace hides, and for idle CPUs
	at       time.Duration // by CLOCK_MONOTONIC
	calls    []uint64      // addresses in the kernel, innermost first
}

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
		if kind != unix.PERF_RECORD_SAMPLE { // throttling
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
