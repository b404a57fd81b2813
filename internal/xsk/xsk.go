// Package xsk maps the rings of AF_XDP sockets (Documentation/networking/af_xdp.rst).
//
// It must not know which frames pass through them.
package xsk

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Ring is shared with the kernel (include/uapi/linux/if_xdp.h). One side moves the producer, the
// other the consumer. Entries are addresses in the memory, or descriptors. Their number is a power of two.
type Ring[T uint64 | unix.XDPDesc] struct {
	mapping            []byte
	producer, consumer *uint32
	entries            []T
}

func (r *Ring[T]) at(i uint32) *T { return &r.entries[i&uint32(len(r.entries)-1)] }

// Waiting returns how many entries the other side has produced, or not yet consumed.
func (r *Ring[T]) Waiting() uint32 {
	return atomic.LoadUint32(r.producer) - atomic.LoadUint32(r.consumer)
}

// Put adds an entry and reports whether there was room.
func (r *Ring[T]) Put(e T) bool {
	if r.Waiting() == uint32(len(r.entries)) {
		return false
	}
	p := atomic.LoadUint32(r.producer)
	*r.at(p) = e
	atomic.StoreUint32(r.producer, p+1)
	return true
}

// Take removes the oldest entry.
func (r *Ring[T]) Take() (e T, ok bool) {
	if r.Waiting() == 0 {
		return e, false
	}
	c := atomic.LoadUint32(r.consumer)
	e = *r.at(c)
	atomic.StoreUint32(r.consumer, c+1)
	return e, true
}

// Register makes mem, in frames of size bytes, the memory of socket fd.
func Register(fd int, mem []byte, size int) error {
	reg := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(&mem[0]))), Len: uint64(len(mem)), Size: uint32(size)}
	if _, _, e := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, unix.XDP_UMEM_REG,
		uintptr(unsafe.Pointer(&reg)), unsafe.Sizeof(reg), 0); e != 0 {
		return os.NewSyscallError("setsockopt XDP_UMEM_REG", e)
	}
	return nil
}

// Offsets returns where the parts of the rings of socket fd are.
func Offsets(fd int) (off unix.XDPMmapOffsets, err error) {
	size := uint32(unsafe.Sizeof(off))
	if _, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_XDP, unix.XDP_MMAP_OFFSETS,
		uintptr(unsafe.Pointer(&off)), uintptr(unsafe.Pointer(&size)), 0); e != 0 {
		err = os.NewSyscallError("getsockopt XDP_MMAP_OFFSETS", e)
	}
	return off, err
}

// Map maps a ring of fd with so many entries. Until Unmap, the socket outlives the close of its descriptor.
func Map[T uint64 | unix.XDPDesc](r *Ring[T], fd int, at int64, off unix.XDPRingOffset, entries int) error {
	var entry T
	b, err := unix.Mmap(fd, at, int(off.Desc)+entries*int(unsafe.Sizeof(entry)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return fmt.Errorf("map a ring of an AF_XDP socket: %w", err)
	}
	r.mapping = b
	r.producer = (*uint32)(unsafe.Pointer(&b[off.Producer]))
	r.consumer = (*uint32)(unsafe.Pointer(&b[off.Consumer]))
	r.entries = unsafe.Slice((*T)(unsafe.Pointer(&b[off.Desc])), entries)
	return nil
}

// Unmap ends the use of a ring, which may never have been mapped.
func (r *Ring[T]) Unmap() error {
	if r.mapping == nil {
		return nil
	}
	b := r.mapping
	*r = Ring[T]{}
	return unix.Munmap(b)
}
