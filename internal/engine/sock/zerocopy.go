package sock

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// A Zerocopy sends on a connection with MSG_ZEROCOPY (Documentation/networking/msg_zerocopy.rst):
// the kernel reads the caller's memory until it reports completion on the error queue. It must not
// be copied.
type Zerocopy struct {
	fd     int
	begun  int64 // calls that the kernel accepted
	Done   int64 // of these, calls that it has reported complete
	Copied int64 // of these, calls for which it copied after all
	queue  *errQueue
}

// zerocopyAhead is how many calls can be under way before notices are read: each uses
// net.core.optmem_max, 128 KiB, until the kernel reports it.
const zerocopyAhead = 32

func NewZerocopy(fd int) (*Zerocopy, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1); err != nil {
		return nil, fmt.Errorf("zerocopy: %w%s", err, Lacks(err, "SO_ZEROCOPY, which came with Linux 4.14", "send without --zerocopy"))
	}
	return &Zerocopy{fd: fd, queue: newErrQueue(fd)}, nil
}

// Send returns EAGAIN if the kernel took nothing within a Tick.
func (z *Zerocopy) Send(b []byte) (int, unix.Errno) {
	if z.begun-z.Done >= zerocopyAhead {
		z.Reap()
	}
	for {
		n, errno := HotSend(z.fd, b, unix.MSG_ZEROCOPY)
		if errno == 0 {
			z.begun++
		}
		if errno != unix.ENOBUFS || z.begun == z.Done {
			return n, errno
		}
		// No room for another notice or for locked memory: some must complete first.
		if z.Reap() == 0 {
			HotPoll(z.fd, 0, Tick)
			if z.Reap() == 0 {
				return 0, unix.EAGAIN
			}
		}
	}
}

// Reap reads the queued notices and returns how many calls they cover.
func (z *Zerocopy) Reap() int64 {
	before := z.Done
	for {
		e, _, ok := z.queue.next()
		if !ok {
			return z.Done - before
		}
		calls, copied := readNotice(e)
		z.Done += calls
		if copied {
			z.Copied += calls
		}
	}
}

func readNotice(e unix.SockExtendedErr) (calls int64, copied bool) {
	if e.Origin != unix.SO_EE_ORIGIN_ZEROCOPY || e.Errno != 0 {
		return 0, false
	}
	return int64(e.Data-e.Info) + 1, e.Code&unix.SO_EE_CODE_ZEROCOPY_COPIED != 0 // modulo 2^32
}

// Explain adds the likely cause to an error of Send; z can be nil.
func (z *Zerocopy) Explain(errno unix.Errno) error {
	if z != nil && errno == unix.ENOBUFS {
		return fmt.Errorf("%w: the kernel cannot lock memory for --zerocopy: raise ulimit -l or net.core.optmem_max, or lower --size", errno)
	}
	return errno
}
