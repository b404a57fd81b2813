package sock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
	"github.com/weir-bench/weir/internal/xsk"
)

const (
	ethSize   = 14
	udpSize   = 8
	ttl       = 64
	frameSize = 4096 // a page, the largest frame that the kernel accepts
	// doneRing is how many datagrams can be in the kernel, a power of two: it reserves room to report
	// each one sent before it sends it.
	doneRing = 2048
)

// An xdpPath gives whole frames to a device, past the sender's IP stack, netfilter and queueing
// disciplines. Frame i of the memory belongs to entry i of the ring, so a frame that the kernel has not
// sent yet can be written again. The kernel copies frames as it takes them (XDP_COPY).
type xdpPath struct {
	fd         int
	run        uint32
	mem        []byte
	frames     [][]byte
	tx         xsk.Ring[unix.XDPDesc]
	done       xsk.Ring[uint64]
	next       uint32 // entry of the oldest frame that the kernel has not sent
	data       int    // where the datagram begins
	checksum   int    // where its checksum is; 0: none is sent
	checkStart uint32 // the sum of everything but the header of package wire
}

// newXDP prepares an AF_XDP socket that sends what the connected socket udp would.
func newXDP(udp int, run uint32, m event.Mode) (p *xdpPath, err error) {
	head, h, err := frameHead(udp, m.Size)
	if err != nil {
		return nil, err
	}
	if most := min(h.mtu, frameSize-ethSize); len(head)-ethSize+m.Size > most {
		return nil, fmt.Errorf("xdp does not fragment, and a datagram of %d bytes with its headers does not fit into the %d bytes of a packet through %s: lower --size to %d, or use --send single or mmsg",
			m.Size, most, h.dev.Name, most-len(head)+ethSize)
	}
	switch kind, err := shaped(h.dev); {
	case err != nil:
		return nil, err
	case kind != "":
		return nil, fmt.Errorf("--send xdp would pass by the queueing discipline %s of %s, which is part of the path: use --send mmsg", kind, h.dev.Name)
	}
	p = &xdpPath{run: run, data: len(head)}
	if p.fd, err = unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("open an AF_XDP socket: %w%s", err, needs(err))
	}
	if err := p.open(h.dev.Index, len(head)+m.Size, m.Batch); err != nil {
		p.Close()
		return nil, fmt.Errorf("AF_XDP socket on %s: %w", h.dev.Name, err)
	}
	for _, f := range p.frames {
		copy(f, head)
	}
	if len(head) > ethSize+20+udpSize { // IPv6 demands checksums (RFC 8200, 8.1), IPv4 does not (RFC 768)
		p.checksum = p.data - 2
		pseudo := uint32(unix.IPPROTO_UDP + udpSize + m.Size)
		p.checkStart = sum(pseudo, head[ethSize+8:])
	}
	return p, nil
}

// open makes the memory and the rings, and binds the socket to queue 0 of a device.
func (p *xdpPath) open(dev, size, batch int) (err error) {
	entries := 1 << bits.Len(uint(max(batch, 2)-1))
	room := frameSize
	if size <= frameSize/2 {
		room = frameSize / 2
	}
	p.mem, err = unix.Mmap(-1, 0, max(entries*room, frameSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return fmt.Errorf("memory for frames: %w", err)
	}
	if err := xsk.Register(p.fd, p.mem, room); err != nil {
		return fmt.Errorf("%w; %d KiB must fit into ulimit -l", err, len(p.mem)>>10)
	}
	// The kernel wants a ring to receive into even from sockets that only send (xsk_validate_queues, net/xdp/xsk.c).
	for o, n := range map[int]int{unix.XDP_UMEM_FILL_RING: 2, unix.XDP_UMEM_COMPLETION_RING: doneRing, unix.XDP_TX_RING: entries} {
		if err := unix.SetsockoptInt(p.fd, unix.SOL_XDP, o, n); err != nil {
			return fmt.Errorf("rings: %w", err)
		}
	}
	off, err := xsk.Offsets(p.fd)
	if err == nil {
		err = errors.Join(xsk.Map(&p.tx, p.fd, unix.XDP_PGOFF_TX_RING, off.Tx, entries),
			xsk.Map(&p.done, p.fd, unix.XDP_UMEM_PGOFF_COMPLETION_RING, off.Cr, doneRing))
	}
	if err == nil {
		err = bindQueue(p.fd, dev)
	}
	for i := range entries {
		p.frames = append(p.frames, p.mem[i*room:][:size:room])
	}
	return err
}

// bindQueue binds an AF_XDP socket to queue 0 of a device. It waits up to a second for the socket of the last run:
// the kernel gives the queue free some time after the close (xp_put_pool, net/xdp/xsk_buff_pool.c).
func bindQueue(fd, dev int) (err error) {
	for until := Now() + int64(time.Second); ; HotNap(time.Millisecond) {
		err = unix.Bind(fd, &unix.SockaddrXDP{Flags: unix.XDP_COPY, Ifindex: uint32(dev)})
		if err != unix.EBUSY || Now() > until {
			break
		}
	}
	switch err {
	case nil:
		return nil
	case unix.EBUSY:
		return fmt.Errorf("bind to queue 0: %w: another program uses it through AF_XDP; end it, or use --send mmsg", err)
	}
	return fmt.Errorf("bind to queue 0: %w", err)
}

// Close gives the device's queue back. The kernel may still have frames, and keeps what it needs of them.
func (p *xdpPath) Close() {
	// Neither unmapping a mapping nor closing a descriptor of one's own fails.
	_ = errors.Join(p.tx.Unmap(), p.done.Unmap(), unix.Close(p.fd))
	if p.mem != nil {
		_ = unix.Munmap(p.mem)
	}
	p.frames, p.mem = nil, nil
}

// Send sends a batch. EBUSY says that the device dropped the last of the datagrams taken; the kernel
// takes the others with the next call.
func (p *xdpPath) Send(k wire.Kind, seq uint64, n int, t int64) (sent, tried int, errno unix.Errno) {
	for _, ok := p.done.Take(); ok; _, ok = p.done.Take() {
	}
	h := wire.Header{Kind: k, Run: p.run, Seq: seq, Sent: uint64(t) & wire.Mask40}
	waiting := int(p.tx.Waiting())
	n = max(n, waiting)
	for i := range n {
		at := (p.next + uint32(i)) % uint32(len(p.frames))
		f := p.frames[at]
		h.Put(f[p.data:])
		if p.checksum != 0 {
			c := fold(sum(p.checkStart, f[p.data:][:wire.HeaderSize]))
			if c == 0 {
				c = 0xffff // 0 says that there is none (RFC 768)
			}
			binary.BigEndian.PutUint16(f[p.checksum:], c)
		}
		h.Seq++
		if i >= waiting {
			p.tx.Put(unix.XDPDesc{Addr: uint64(at) * uint64(cap(f)), Len: uint32(len(f))})
		}
	}
	errno = hotKick(p.fd)
	tried = n - int(p.tx.Waiting())
	p.next += uint32(tried)
	sent = tried
	if errno == unix.EBUSY {
		sent, errno = tried-1, unix.ENOBUFS
	}
	return sent, tried, errno
}

//go:noinline
func hotKick(fd int) unix.Errno {
	_, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	return errno
}

// needs names the privilege that an AF_XDP socket needs, or the kernel.
func needs(err error) string {
	switch {
	case errors.Is(err, unix.EPERM):
		return "; --send xdp needs CAP_NET_RAW in the user namespace of the network namespace: run it as root of its container, or use --send mmsg"
	case errors.Is(err, unix.EAFNOSUPPORT):
		return "; this kernel lacks CONFIG_XDP_SOCKETS: use --send mmsg"
	}
	return ""
}

// frameHead returns the Ethernet, IP and UDP headers of the datagrams of size bytes that a connected
// socket sends, and their first hop.
func frameHead(udp, size int) (b []byte, h hop, err error) {
	from, err := OwnAddr(udp)
	if err != nil {
		return nil, h, err
	}
	peer, err := unix.Getpeername(udp)
	if err != nil {
		return nil, h, fmt.Errorf("socket: address of the peer: %w", err)
	}
	to, err := AddrPort(peer)
	if err != nil {
		return nil, h, err
	}
	if h, err = nextHop(from.Addr(), to.Addr()); err != nil {
		return nil, h, fmt.Errorf("--send xdp: %w; use --send mmsg", err)
	}
	level, opt := ipOption(to.Addr().Is6(), unix.IP_TOS, unix.IPV6_TCLASS)
	tos, err := unix.GetsockoptInt(udp, level, opt)
	if err != nil {
		return nil, h, err
	}
	b = append(append(b, h.neighbor...), h.dev.HardwareAddr...)
	n := uint16(udpSize + size)
	if to.Addr().Is4() {
		b = append(b, 0x08, 0x00, 0x45, byte(tos))
		b = binary.BigEndian.AppendUint16(b, 20+n)
		b = append(b, 0, 0, 0x40, 0, ttl, unix.IPPROTO_UDP, 0, 0) // may not be fragmented, so needs no ID (RFC 6864)
	} else {
		b = append(b, 0x86, 0xdd, 0x60|byte(tos>>4), byte(tos<<4), 0, 0)
		b = binary.BigEndian.AppendUint16(b, n)
		b = append(b, unix.IPPROTO_UDP, ttl)
	}
	b = append(append(b, from.Addr().AsSlice()...), to.Addr().AsSlice()...)
	if to.Addr().Is4() {
		binary.BigEndian.PutUint16(b[ethSize+10:], checksum(b[ethSize:]))
	}
	for _, v := range []uint16{from.Port(), to.Port(), n, 0} {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	return b, h, nil
}
