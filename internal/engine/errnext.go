package engine

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// An errQueue reads the error queue of a socket without allocating. It must not be
// copied, since its header points into it.
type errQueue struct {
	fd      int
	hdr     unix.Msghdr
	control [32]uint64
}

func newErrQueue(fd int) *errQueue {
	q := &errQueue{fd: fd}
	q.hdr.Control = (*byte)(unsafe.Pointer(&q.control))
	return q
}

// next takes the next entry, and reports false when there is none.
func (q *errQueue) next() (unix.SockExtendedErr, bool) {
	for {
		q.hdr.SetControllen(len(q.control) * 8)
		if _, errno := hotRecvMessage(q.fd, &q.hdr, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT); errno != 0 {
			return unix.SockExtendedErr{}, false
		}
		control := unsafe.Slice((*byte)(unsafe.Pointer(&q.control)), int(q.hdr.Controllen))
		if e, ok := extendedErr(control); ok {
			return e, true
		}
	}
}

// extendedErr finds the entry among what the kernel tells beside a message (ip(7),
// IP_RECVERR). No option that adds something is set on the sockets that send.
func extendedErr(b []byte) (e unix.SockExtendedErr, ok bool) {
	head := unix.CmsgLen(0)
	if len(b) < head+int(unsafe.Sizeof(e)) {
		return e, false
	}
	return *(*unix.SockExtendedErr)(unsafe.Pointer(&b[head])), true
}
