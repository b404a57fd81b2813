package sock

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Bulk receives many messages per system call, each of one datagram or, with UDP_GRO, of several.
// It must not be copied: the kernel's structures point into it.
type Bulk struct {
	msgs    []mmsghdr // of the next read
	Got     int       // messages of the last one
	room    [RecvBatch]mmsghdr
	iovs    [RecvBatch]unix.Iovec
	names   [RecvBatch]unix.RawSockaddrAny
	control [RecvBatch][controlWords]uint64
	buf     []byte
}

const (
	// RecvBatch makes the cost of a system call negligible.
	RecvBatch = 32
	// controlWords of 8 bytes hold a drop counter and a segment size, 4 bytes each with a header of
	// 16, padded to 24, with room to spare.
	controlWords = 16
	// bulkSlot holds any message. It is not a multiple of a large power of two, so the first bytes
	// of the slots do not compete for one cache line.
	bulkSlot = 1<<16 + 320
)

func NewBulk() *Bulk {
	b := &Bulk{buf: make([]byte, RecvBatch*bulkSlot)}
	for i := range b.room {
		h := &b.room[i].hdr
		carry(h, &b.iovs[i], b.buf[i*bulkSlot:][:bulkSlot])
		h.Name = (*byte)(unsafe.Pointer(&b.names[i]))
		h.Control = (*byte)(unsafe.Pointer(&b.control[i]))
	}
	b.Shape(1)
	return b
}

// Shape sets how many messages a read can return.
func (b *Bulk) Shape(n int) { b.msgs, b.Got = b.room[:n], n }

// prepare resets the headers that the last read changed.
func (b *Bulk) prepare() {
	for i := range b.room[:b.Got] {
		h := &b.room[i].hdr
		h.Namelen = unix.SizeofSockaddrAny
		h.SetControllen(controlWords * 8)
	}
	b.Got = 0
}

// Wait is Read outside a hot loop: it tells the runtime that the thread can block.
func (b *Bulk) Wait(fd int) unix.Errno {
	b.prepare()
	n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.msgs[0])), uintptr(len(b.msgs)), unix.MSG_WAITFORONE, 0, 0)
	return b.took(int(n), errno)
}

// Read waits for one message and receives all that are there; with MSG_DONTWAIT it does not wait.
// See hot.go.
func (b *Bulk) Read(fd int, flags uintptr) unix.Errno {
	b.prepare()
	if len(b.msgs) > 1 {
		n, errno := hotRecvMany(fd, b.msgs, flags|unix.MSG_WAITFORONE)
		return b.took(n, errno)
	}
	n, errno := hotRecvMessage(fd, &b.msgs[0].hdr, flags)
	b.msgs[0].n = uint32(n)
	return b.took(1, errno)
}

func (b *Bulk) took(n int, errno unix.Errno) unix.Errno {
	if errno != 0 {
		n = 1 // the kernel can have written part of it before it failed
	}
	b.Got = n
	return errno
}

// A packet is one message: datagrams of Segment bytes, the last of which can be shorter.
type packet struct {
	Data    []byte
	Segment int    // at least 1
	Drops   uint32 // by the socket until it queued the packet (SO_RXQ_OVFL, socket(7))
}

// At returns message i of the last read, empty if truncated.
func (b *Bulk) At(i int) packet {
	h := &b.room[i].hdr
	n := int(b.room[i].n)
	if h.Flags&unix.MSG_TRUNC != 0 {
		n = 0
	}
	p := packet{Data: b.buf[i*bulkSlot:][:n], Segment: max(n, 1)}
	control := unsafe.Slice((*byte)(unsafe.Pointer(&b.control[i])), int(h.Controllen))
	p.Drops, p.Segment = readControl(control, p.Segment)
	return p
}

func (b *Bulk) From(i int) (name unix.RawSockaddrAny, length uint32) {
	return b.names[i], b.room[i].hdr.Namelen
}

// readControl decodes ancillary data: the drop counter, absent while it is 0, and the segment size,
// absent for a single segment (udp_cmsg_recv, include/linux/udp.h).
func readControl(b []byte, whole int) (drops uint32, segment int) {
	for segment = whole; len(b) > 0; {
		level, kind, data, rest := nextControl(b)
		if len(data) >= 4 {
			v := binary.NativeEndian.Uint32(data)
			switch {
			case level == unix.SOL_SOCKET && kind == unix.SO_RXQ_OVFL:
				drops = v
			case level == unix.SOL_UDP && kind == unix.UDP_GRO && v > 0 && v < uint32(whole):
				segment = int(v)
			}
		}
		b = rest
	}
	return drops, segment
}
