package engine

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
)

// A streamReader reads the server's socket while a run of datagrams one way is on.
//
// A server that waits in its socket is woken up by almost every datagram when it
// is faster than the path, and the sender pays: where both ends are on one
// machine, the softirq that delivers runs on the sender's CPU, and sends the
// interrupt that wakes the other. One that naps, and reads what has gathered
// meanwhile, leaves the sender alone.
type streamReader struct {
	*bulk
	nap  time.Duration
	last int64 // when the last read ended
	busy int64 // when the last datagram of a stream came
}

const (
	// hotFor is how long after the last datagram of a stream the next one is
	// waited for in a hurry.
	hotFor = 10 * time.Millisecond
	// groBatch is smaller than recvBatch: each message may have 64 KiB, and what
	// was read shall still be in the cache.
	groBatch = 8
)

// receiveAs prepares the socket and the server for what p asks for.
func (u *udpServer) receiveAs(p params) error {
	gro := oneWay(p.Workload) && p.Recv == event.RecvGRO
	if gro != u.gro {
		on := 0
		if gro {
			on = 1
		}
		if err := unix.SetsockoptInt(u.fd, unix.SOL_UDP, unix.UDP_GRO, on); err != nil {
			return fmt.Errorf("gro: %w%s", err, lacks(err, "UDP_GRO, which came with Linux 5.0", "receive single or mmsg"))
		}
		u.gro = gro
	}
	if !oneWay(p.Workload) {
		u.stream = nil
		return nil
	}
	if u.bulk == nil {
		u.bulk = newBulk()
	}
	u.bulk.shape(max(1, map[string]int{event.RecvMmsg: recvBatch, event.RecvGRO: groBatch}[p.Recv]))
	u.stream = &streamReader{bulk: u.bulk, nap: p.Nap}
	return nil
}

// read waits for messages, or looks for them and naps when there are none.
func (x *streamReader) read(fd int) unix.Errno {
	var errno unix.Errno
	switch {
	case x.last-x.busy > int64(hotFor):
		errno = x.bulk.wait(fd)
	case x.nap == 0:
		errno = x.bulk.read(fd, 0)
	default:
		if errno = x.bulk.read(fd, unix.MSG_DONTWAIT); errno == unix.EAGAIN {
			hotNap(x.nap)
		}
	}
	x.last = now()
	return errno
}

// readStream reads what is there. It counts what belongs to the stream first: no
// request that comes with it can be meant for anything but what was sent before.
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

// count counts the measured datagrams of the last read, and reports whether there
// were any that are not of a stream.
func (u *udpServer) count(x *streamReader) (others bool) {
	buffers, before, bytes := int64(0), u.counts.Delivered, u.counts.Bytes
	for i := range x.got {
		p := x.at(i)
		u.drops = p.drops
		measured := false
		for rest := p.data; len(rest) > 0; {
			d := rest[:min(p.segment, len(rest))]
			rest = rest[len(d):]
			h, ok := parseHeader(d)
			switch {
			case !ok:
			case h.kind == kindMeasure:
				x.busy = x.last
				if u.begun && h.run == u.run && h.seq >= u.from {
					u.counts.add(h, len(d), x.last)
					measured = true
				}
			case h.kind == kindWarmup:
				x.busy = x.last
			default:
				others = true
			}
		}
		if measured {
			buffers++
		}
	}
	u.counts.done(buffers)
	u.meter.add(int(u.counts.Delivered-before), int(u.counts.Bytes-bytes))
	return others
}

// others handles the datagrams of the last read that are not of a stream.
func (u *udpServer) others(x *streamReader) {
	for i := range x.got {
		p := x.at(i)
		for rest := p.data; len(rest) > 0; {
			d := rest[:min(p.segment, len(rest))]
			rest = rest[len(d):]
			h, ok := parseHeader(d)
			if !ok || h.kind == kindMeasure || h.kind == kindWarmup {
				continue
			}
			u.msg.name, u.msg.hdr.Namelen = x.names[i], x.room[i].hdr.Namelen
			u.handle(copy(u.msg.buf, d))
			if h.kind == kindReport {
				return // drain has read over the rest; who asked asks again
			}
		}
	}
}

// drain counts what has arrived, until the deadline at most.
func (u *udpServer) drain(deadline int64) {
	x := u.stream
	for x != nil && x.last < deadline && x.bulk.read(u.fd, unix.MSG_DONTWAIT) == 0 {
		x.last = now()
		u.count(x)
	}
}
