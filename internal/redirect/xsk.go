package redirect

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/xsk"
)

// Sizes of a socket's memory. A frame is a page, the largest that the kernel accepts.
const (
	frameSize  = 4096
	ringSize   = 2048         // entries of each ring, a power of two
	portFrames = 2 * ringSize // frames per port: what it can receive and what it can send
)

// A port is a device with an AF_XDP socket on its only queue, in copy mode, and the program that
// gives every frame to the socket.
type port struct {
	fd         int
	rx, tx     xsk.Ring[unix.XDPDesc]
	fill, done xsk.Ring[uint64] // frames that the kernel can receive into, and those that it has sent
	sent       bool             // tx has entries that the kernel does not know of
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
		err = xsk.Register(p.fd, mem, frameSize)
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
	off, err := xsk.Offsets(p.fd)
	if err != nil {
		return err
	}
	return errors.Join(
		xsk.Map(&p.rx, p.fd, unix.XDP_PGOFF_RX_RING, off.Rx, ringSize), xsk.Map(&p.tx, p.fd, unix.XDP_PGOFF_TX_RING, off.Tx, ringSize),
		xsk.Map(&p.fill, p.fd, unix.XDP_UMEM_PGOFF_FILL_RING, off.Fr, ringSize), xsk.Map(&p.done, p.fd, unix.XDP_UMEM_PGOFF_COMPLETION_RING, off.Cr, ringSize))
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
