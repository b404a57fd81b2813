package redirect

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Sizes of a socket's memory. A frame is a page, the largest that the kernel accepts.
const (
	frameSize  = 4096
	ringSize   = 2048         // entries of each ring, a power of two
	portFrames = 2 * ringSize // frames per port: what it can receive and what it can send
)

// A ring is shared with the kernel (include/uapi/linux/if_xdp.h). One side moves the producer, the
// other the consumer. Entries are addresses in the memory, or descriptors.
type ring[T uint64 | unix.XDPDesc] struct {
	producer, consumer *uint32
	entries            []T
}

func (r *ring[T]) at(i uint32) *T { return &r.entries[i%ringSize] }

// waiting returns how many entries the other side has produced, or not yet consumed.
func (r *ring[T]) waiting() uint32 {
	return atomic.LoadUint32(r.producer) - atomic.LoadUint32(r.consumer)
}

// put adds an entry and reports whether there was room.
func (r *ring[T]) put(e T) bool {
	if r.waiting() == ringSize {
		return false
	}
	p := atomic.LoadUint32(r.producer)
	*r.at(p) = e
	atomic.StoreUint32(r.producer, p+1)
	return true
}

// take removes the oldest entry.
func (r *ring[T]) take() (e T, ok bool) {
	if r.waiting() == 0 {
		return e, false
	}
	c := atomic.LoadUint32(r.consumer)
	e = *r.at(c)
	atomic.StoreUint32(r.consumer, c+1)
	return e, true
}

// A port is a device with an AF_XDP socket on its only queue, in copy mode, and the program that
// gives every frame to the socket.
type port struct {
	fd         int
	rx, tx     ring[unix.XDPDesc]
	fill, done ring[uint64] // frames that the kernel can receive into, and those that it has sent
	sent       bool         // tx has entries that the kernel does not know of
	prog       *ebpf.Program
	sockets    *ebpf.Map
	at         link.Link
}

// openPort opens a socket on the device with index dev. The first port registers the memory, and
// the others share it.
func openPort(dev int, mem []byte, first *port) (p *port, err error) {
	p = &port{}
	if p.fd, err = unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("open an AF_XDP socket: %w; this needs a kernel with CONFIG_XDP_SOCKETS", err)
	}
	address := &unix.SockaddrXDP{Flags: unix.XDP_COPY, Ifindex: uint32(dev)}
	if first == nil {
		reg := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(&mem[0]))), Len: uint64(len(mem)), Size: frameSize}
		if _, _, e := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(p.fd), unix.SOL_XDP, unix.XDP_UMEM_REG,
			uintptr(unsafe.Pointer(&reg)), unsafe.Sizeof(reg), 0); e != 0 {
			err = os.NewSyscallError("setsockopt XDP_UMEM_REG", e)
		}
	} else {
		address.Flags, address.SharedUmemFD = unix.XDP_SHARED_UMEM, uint32(first.fd)
	}
	for _, o := range []int{unix.XDP_UMEM_FILL_RING, unix.XDP_UMEM_COMPLETION_RING, unix.XDP_RX_RING, unix.XDP_TX_RING} {
		if err == nil {
			err = unix.SetsockoptInt(p.fd, unix.SOL_XDP, o, ringSize)
		}
	}
	if err == nil {
		err = p.mapRings()
	}
	if err == nil {
		err = unix.Bind(p.fd, address)
	}
	if err == nil {
		err = p.attach(dev)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *port) mapRings() error {
	var off unix.XDPMmapOffsets
	size := uint32(unsafe.Sizeof(off))
	if _, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(p.fd), unix.SOL_XDP, unix.XDP_MMAP_OFFSETS,
		uintptr(unsafe.Pointer(&off)), uintptr(unsafe.Pointer(&size)), 0); e != 0 {
		return os.NewSyscallError("getsockopt XDP_MMAP_OFFSETS", e)
	}
	return errors.Join(
		mapRing(&p.rx, p.fd, unix.XDP_PGOFF_RX_RING, off.Rx), mapRing(&p.tx, p.fd, unix.XDP_PGOFF_TX_RING, off.Tx),
		mapRing(&p.fill, p.fd, unix.XDP_UMEM_PGOFF_FILL_RING, off.Fr), mapRing(&p.done, p.fd, unix.XDP_UMEM_PGOFF_COMPLETION_RING, off.Cr))
}

// mapRing maps a ring of fd. The mapping lasts as long as the process.
func mapRing[T uint64 | unix.XDPDesc](r *ring[T], fd int, at int64, off unix.XDPRingOffset) error {
	var entry T
	b, err := unix.Mmap(fd, at, int(off.Desc)+ringSize*int(unsafe.Sizeof(entry)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return fmt.Errorf("map a ring of an AF_XDP socket: %w", err)
	}
	r.producer = (*uint32)(unsafe.Pointer(&b[off.Producer]))
	r.consumer = (*uint32)(unsafe.Pointer(&b[off.Consumer]))
	r.entries = unsafe.Slice((*T)(unsafe.Pointer(&b[off.Desc])), ringSize)
	return nil
}

// attach makes the device's driver give the frames of queue 0 to the socket, and drop any others.
func (p *port) attach(dev int) (err error) {
	if p.sockets, err = ebpf.NewMap(&ebpf.MapSpec{Name: "weir_sockets", Type: ebpf.XSKMap, KeySize: 4, ValueSize: 4, MaxEntries: 1}); err != nil {
		return err
	}
	if err = p.sockets.Put(uint32(0), uint32(p.fd)); err != nil {
		return err
	}
	const queue, drop = 16, 1 // offset in struct xdp_md, and XDP_DROP (include/uapi/linux/bpf.h)
	p.prog, err = ebpf.NewProgram(&ebpf.ProgramSpec{Name: "weir_afxdp", Type: ebpf.XDP, License: "Dual MIT/GPL", Instructions: asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, queue, asm.Word),
		asm.LoadMapPtr(asm.R1, p.sockets.FD()),
		asm.Mov.Imm(asm.R3, drop),
		asm.FnRedirectMap.Call(),
		asm.Return(),
	}})
	if err == nil {
		p.at, err = link.AttachXDP(link.XDPOptions{Program: p.prog, Interface: dev, Flags: link.XDPDriverMode})
	}
	return err
}

func (p *port) Close() error {
	var errs []error
	if p.at != nil {
		errs = append(errs, p.at.Close())
	}
	if p.prog != nil {
		errs = append(errs, p.prog.Close())
	}
	if p.sockets != nil {
		errs = append(errs, p.sockets.Close())
	}
	return errors.Join(append(errs, unix.Close(p.fd))...)
}
