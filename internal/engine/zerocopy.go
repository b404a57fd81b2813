package engine

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// A zerocopy sends on a connection with MSG_ZEROCOPY
// (Documentation/networking/msg_zerocopy.rst): the kernel reads the caller's
// memory until it tells on the error queue that it is done. It must not be copied.
type zerocopy struct {
	fd     int
	begun  int64 // calls that the kernel took
	done   int64 // and of which it has told the end
	copied int64 // and of these, that it copied after all
	queue  *errQueue
}

// zerocopyAhead is how many calls are under way before notices are read: each
// takes memory of net.core.optmem_max, 128 KiB, until it is told.
const zerocopyAhead = 32

func newZerocopy(fd int) (*zerocopy, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1); err != nil {
		return nil, fmt.Errorf("zerocopy: %w%s", err, lacks(err, "SO_ZEROCOPY, which came with Linux 4.14", "send without --zerocopy"))
	}
	return &zerocopy{fd: fd, queue: newErrQueue(fd)}, nil
}

// send sends b. EAGAIN means that nothing was taken within a tick.
func (z *zerocopy) send(b []byte) (int, unix.Errno) {
	if z.begun-z.done >= zerocopyAhead {
		z.reap()
	}
	for {
		n, errno := hotSend(z.fd, b, unix.MSG_ZEROCOPY)
		if errno == 0 {
			z.begun++
		}
		if errno != unix.ENOBUFS || z.begun == z.done {
			return n, errno
		}
		// No room for another notice, or for locked memory: some must come first.
		if z.reap() == 0 {
			hotPoll(z.fd, 0) // POLLERR is always waited for
			if z.reap() == 0 {
				return 0, unix.EAGAIN
			}
		}
	}
}

// reap reads the notices that are there and returns how many calls they tell of.
func (z *zerocopy) reap() int64 {
	before := z.done
	for {
		e, ok := z.queue.next()
		if !ok {
			return z.done - before
		}
		calls, copied := readNotice(e)
		z.done += calls
		if copied {
			z.copied += calls
		}
	}
}

// readNotice reads a notice: a range of calls that have ended.
func readNotice(e unix.SockExtendedErr) (calls int64, copied bool) {
	if e.Origin != unix.SO_EE_ORIGIN_ZEROCOPY || e.Errno != 0 {
		return 0, false
	}
	return int64(e.Data-e.Info) + 1, e.Code&unix.SO_EE_CODE_ZEROCOPY_COPIED != 0 // modulo 2^32
}

// explain adds to an error of send what may be the matter; without z it adds nothing.
func (z *zerocopy) explain(errno unix.Errno) error {
	if z != nil && errno == unix.ENOBUFS {
		return fmt.Errorf("%w: the kernel may lock no memory for --zerocopy: raise ulimit -l or net.core.optmem_max, or lower --size", errno)
	}
	return errno
}
