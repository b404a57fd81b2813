package engine

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A streamReader reads the server's socket during a run of one-way datagrams.
//
// A server that blocks and is faster than the path wakes up for almost every datagram, and the
// sender pays: with both ends on one machine, the softirq that delivers runs on the sender's CPU
// and sends the interrupt that wakes the server. A server that naps and then reads everything
// queued leaves the sender alone. With UDP_GRO it naps and waits in turn: a wake-up costs little
// compared with a whole buffer, and a hypervisor that moves away a CPU that only timers wake brings
// it back when the sender's CPU wakes it (ADR 62).
type streamReader struct {
	*sock.Bulk
	nap    time.Duration
	gro    bool
	napped bool  // since it was woken up
	last   int64 // when the last read ended
	busy   int64 // when the last datagram of a stream came
}

const (
	// hotFor is how long the server keeps polling after the last datagram of a stream.
	hotFor = 10 * time.Millisecond
	// fillRate is the rate at which streams fill a receive buffer, bytes/ns with the kernel's bookkeeping: more than
	// UDP_GRO has reached on one machine (ADR 62). No nap is longer than the buffer lasts.
	fillRate = 20
	// groBatch is smaller than sock.RecvBatch: messages can have 64 KiB and should still be in the
	// cache when counted.
	groBatch = 8
)

// receiveAs prepares the socket and the server for p.
func (u *udpServer) receiveAs(p wire.Params) error {
	gro := wire.OneWay(p.Workload) && p.Recv == event.RecvGRO
	if gro != u.gro {
		on := 0
		if gro {
			on = 1
		}
		if err := unix.SetsockoptInt(u.fd, unix.SOL_UDP, unix.UDP_GRO, on); err != nil {
			return fmt.Errorf("gro: %w%s", err, sock.Lacks(err, "UDP_GRO, which came with Linux 5.0", "use --recv single or mmsg"))
		}
		u.gro = gro
	}
	if !wire.OneWay(p.Workload) {
		u.stream = nil
		return nil
	}
	if u.bulk == nil {
		u.bulk = sock.NewBulk()
	}
	u.bulk.Shape(max(1, map[string]int{event.RecvMmsg: sock.RecvBatch, event.RecvGRO: groBatch}[p.Recv]))
	u.stream = &streamReader{Bulk: u.bulk, nap: p.Nap, gro: gro}
	return nil
}

// read blocks, or polls and naps if nothing is there, or does both in turn.
func (x *streamReader) read(fd int) unix.Errno {
	var errno unix.Errno
	switch {
	case x.last-x.busy > int64(hotFor):
		errno = x.Bulk.Wait(fd)
	case x.nap == 0:
		errno = x.Bulk.Read(fd, 0)
	default:
		errno = x.Bulk.Read(fd, unix.MSG_DONTWAIT)
		switch {
		case errno != unix.EAGAIN:
		case x.gro && x.napped:
			x.napped = false
			errno = x.Bulk.Read(fd, 0)
		default:
			x.napped = true
			sock.HotNap(x.nap)
		}
	}
	x.last = sock.Now()
	return errno
}

// readStream reads the queued datagrams. It counts those of the stream first: a request that comes
// with them can only concern earlier ones.
func (u *udpServer) readStream() unix.Errno {
	x := u.stream
	if errno := x.read(u.fd); errno != 0 {
		return errno
	}
	if u.count(x) {
		u.others(x)
	}
	return 0
}

// count counts the measured datagrams of the last read, and reports whether others came.
func (u *udpServer) count(x *streamReader) (others bool) {
	buffers, before, bytes := int64(0), u.counts.Delivered, u.counts.Bytes
	for i := range x.Got {
		p := x.At(i)
		u.drops = p.Drops
		measured := false
		for rest := p.Data; len(rest) > 0; {
			d := rest[:min(p.Segment, len(rest))]
			rest = rest[len(d):]
			h, ok := wire.ParseHeader(d)
			switch {
			case !ok: // of another run than the stream, which begins as soon as it has ended
				others = others || u.ended
			case h.Kind == wire.KindMeasure:
				x.busy = x.last
				if u.begun && h.Run == u.run && h.Seq >= u.from {
					u.counts.Add(h, len(d), x.last)
					measured = true
				}
			case h.Kind == wire.KindWarmup:
				x.busy = x.last
			default:
				others = true
			}
		}
		if measured {
			buffers++
		}
	}
	u.counts.Done(buffers)
	u.meter.Add(int(u.counts.Delivered-before), int(u.counts.Bytes-bytes))
	return others
}

// others handles the datagrams of the last read that are not part of a stream.
func (u *udpServer) others(x *streamReader) {
	for i := range x.Got {
		p := x.At(i)
		for rest := p.Data; len(rest) > 0; {
			d := rest[:min(p.Segment, len(rest))]
			rest = rest[len(d):]
			h, ok := wire.ParseHeader(d)
			switch {
			case !ok && u.ended:
				_ = u.receiveAs(wire.Params{}) // its requests come one by one; a socket that refuses to go back answers what it can
			case !ok || h.Kind == wire.KindMeasure || h.Kind == wire.KindWarmup:
				continue
			}
			u.msg.Name, u.msg.Hdr.Namelen = x.From(i)
			u.handle(copy(u.msg.Buf, d))
			if h.Kind == wire.KindReport {
				return // drain has overwritten the rest; clients ask again
			}
		}
	}
}

// drain counts the queued datagrams, until the deadline at most.
func (u *udpServer) drain(deadline int64) {
	x := u.stream
	for x != nil && x.last < deadline && x.Bulk.Read(u.fd, unix.MSG_DONTWAIT) == 0 {
		x.last = sock.Now()
		u.count(x)
	}
}
