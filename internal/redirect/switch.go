package redirect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"golang.org/x/sys/unix"
)

// A userSwitch is a learning Ethernet switch. A frame stays where the kernel copied it on its way from
// one port to another; only broadcasts and frames for unknown stations are copied.
type userSwitch struct {
	mem   []byte
	free  []uint64 // frames that are in no ring
	ports []*port
	table map[[6]byte]int // by station, the port that last received a frame from it
}

// maxStations bounds the table of stations, as many switches do.
const maxStations = 16384

// wakeEvery is how long the switch sleeps at most, in milliseconds, before it looks whether to end.
const wakeEvery = 100

// runSwitch switches frames between devs until ctx ends.
func runSwitch(ctx context.Context, devs []string, ready io.Writer) (err error) {
	s := &userSwitch{table: map[[6]byte]int{}}
	if s.mem, err = unix.Mmap(-1, 0, len(devs)*portFrames*frameSize, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE); err != nil {
		return fmt.Errorf("memory for frames: %w", err)
	}
	for i := range len(devs) * portFrames {
		s.free = append(s.free, uint64(i*frameSize))
	}
	defer func() {
		for _, p := range s.ports {
			err = errors.Join(err, p.Close())
		}
	}()
	for _, name := range devs {
		dev, err := net.InterfaceByName(name)
		if err != nil {
			return fmt.Errorf("device %s: %w", name, err)
		}
		var first *port
		if len(s.ports) > 0 {
			first = s.ports[0]
		}
		p, err := openPort(dev.Index, s.mem, first)
		if err != nil {
			return fmt.Errorf("%s at %s: %w", AFXDP, name, explain(err))
		}
		s.ports = append(s.ports, p)
		s.refill(p)
	}
	if _, err := fmt.Fprintln(ready, Ready); err != nil {
		return err
	}
	return s.run(ctx)
}

func (s *userSwitch) run(ctx context.Context) error {
	var fds []unix.PollFd
	for _, p := range s.ports {
		fds = append(fds, unix.PollFd{Fd: int32(p.fd), Events: unix.POLLIN})
	}
	for ctx.Err() == nil {
		sleep := wakeEvery
		if slices.ContainsFunc(s.ports, func(p *port) bool { return p.sent }) {
			sleep = 1 // a device took no more; try again soon
		}
		if _, err := unix.Poll(fds, sleep); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for frames: %w", err)
		}
		for moved := true; moved && ctx.Err() == nil; {
			moved = false
			for i, p := range s.ports {
				for range min(p.rx.Waiting(), batch) {
					d, _ := p.rx.Take()
					s.forward(i, d)
					moved = true
				}
			}
			for _, p := range s.ports {
				s.flush(p)
				s.refill(p)
			}
		}
	}
	return nil
}

// batch is how many frames of a port the switch forwards before it looks at the next port. The
// kernel sends as many per system call (XDP_MAX_TX_SKB_BUDGET, net/xdp/xsk.c).
const batch = 32

// forward moves a frame to the port of its receiver, or to all other ports if that is unknown.
func (s *userSwitch) forward(from int, d unix.XDPDesc) {
	frame := s.mem[d.Addr : d.Addr+uint64(d.Len)]
	if len(frame) < ipSum {
		s.release(d.Addr)
		return
	}
	dst, src := [6]byte(frame[ethDst:]), [6]byte(frame[ethSrc:])
	if _, known := s.table[src]; src[0]&1 == 0 && (known || len(s.table) < maxStations) {
		s.table[src] = from
	}
	to, known := s.table[dst]
	switch {
	case known && to != from:
		s.send(s.ports[to], d.Addr, d.Len)
		return
	case !known:
		for to, p := range s.ports {
			if last := len(s.free) - 1; to != from && last >= 0 {
				addr := s.free[last]
				s.free = s.free[:last]
				copy(s.mem[addr:], frame)
				s.send(p, addr, d.Len)
			}
		}
	}
	s.release(d.Addr)
}

// release makes a frame free. The kernel receives into the middle of it, after some headroom.
func (s *userSwitch) release(addr uint64) { s.free = append(s.free, addr&^(frameSize-1)) }

// send queues a frame. If the ring stays full, because the device takes no more, it drops the frame.
func (s *userSwitch) send(p *port, addr uint64, size uint32) {
	p.sent = true
	if !p.tx.Put(unix.XDPDesc{Addr: addr, Len: size}) {
		s.flush(p)
		if !p.tx.Put(unix.XDPDesc{Addr: addr, Len: size}) {
			s.release(addr)
		}
	}
}

// flush makes the kernel send what is queued, and frees the frames that it has sent.
func (s *userSwitch) flush(p *port) {
	for p.sent && p.tx.Waiting() > 0 {
		before := p.tx.Waiting()
		_ = unix.Sendto(p.fd, nil, unix.MSG_DONTWAIT, nil) // the rings say what was sent
		s.reap(p)
		if p.tx.Waiting() == before {
			return
		}
	}
	p.sent = p.tx.Waiting() > 0
	s.reap(p)
}

func (s *userSwitch) reap(p *port) {
	for addr, ok := p.done.Take(); ok; addr, ok = p.done.Take() {
		s.release(addr)
	}
}

// refill gives the kernel free frames to receive into.
func (s *userSwitch) refill(p *port) {
	for last := len(s.free) - 1; last >= 0 && p.fill.Put(s.free[last]); last = len(s.free) - 1 {
		s.free = s.free[:last]
	}
}
