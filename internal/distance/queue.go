package distance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

const (
	// most is how many packets can wait: as many as in netem (plan.DelayLimit).
	most = 1 << 15
	// receiveBuffer is the memory for packets that the program has not read yet: the kernel doubles
	// it and needs about 800 bytes each, so it is enough for a few milliseconds. With more, a program
	// that is too slow would delay packets instead of dropping them. net.core.rmem_max limits it
	// further, except for root.
	receiveBuffer = 1 << 20
	// readsAtOnce bounds the reads before packets that are due go on.
	readsAtOnce = 64
	// sendAtOnce bounds the verdicts of one call, bytes: netlink refuses a message that does not fit into
	// the socket's send buffer (netlink_sendmsg), 208 KiB by default.
	sendAtOnce = 32 << 10
)

// A queue holds the packets of all ports. Its thread is the only one that uses the socket.
type queue struct {
	fd       int
	settings atomic.Pointer[map[uint32]Setting] // by the index of the port's device; replaced, never changed
	closed   atomic.Bool
	started  bool
	ended    chan struct{} // closed when run has ended
	thread   atomic.Int32

	ports  map[uint32]*port
	buf    []byte
	due    []uint32 // numbers to release
	orders []byte   // verdicts to send

	mu   sync.Mutex
	done Count
	late *hdrhistogram.Histogram
	// As of the last count:
	counted int64 // the time
	cpu     int64 // of the thread, ns
	dropped uint64
}

// A port holds its packets in order.
type port struct {
	waiting []packet
	last    int64 // when the last one is due
}

// A packet waits under its number until it is due, by CLOCK_MONOTONIC in ns.
type packet struct {
	id  uint32
	due int64
}

// maxLate is more than the scheduler keeps a thread waiting.
const maxLate = 10 * time.Second

// newLate returns a histogram of ns.
func newLate() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(maxLate), 2) }

func newQueue() (*queue, error) {
	fd, err := bind()
	if err != nil {
		return nil, fmt.Errorf("netfilter queue: %w; the kernel needs CONFIG_NETFILTER_NETLINK and CONFIG_NETFILTER_NETLINK_QUEUE", err)
	}
	q := &queue{fd: fd, ports: map[uint32]*port{}, ended: make(chan struct{}), buf: make([]byte, 4096), late: newLate()}
	q.settings.Store(&map[uint32]Setting{})
	// The kernel counts packets that find no room, so it need not report them here as well.
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_NO_ENOBUFS, 1),
		// The kernel stamps packets on arrival while a socket asks for it (net/core/dev.c,
		// net_timestamp_check), so a packet's time does not depend on when the program reads it.
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMP, 1))
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer) != nil {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer))
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return q, nil
}

// bind returns the socket of queue 0, which does not block.
func bind() (int, error) {
	s, err := nl.Subscribe(unix.NETLINK_NETFILTER)
	if err != nil {
		return -1, err
	}
	defer s.Close()
	for _, attributes := range [][]nl.NetlinkRequestData{
		{nl.NewRtAttr(configCommand, []byte{commandBind, 0, 0, 0})},
		{nl.NewRtAttr(configParams, []byte{0, 0, 0, 0, copyMeta})},
		{be32(configLength, most), be32(configFlags, flagGSO), be32(configMask, flagGSO)},
	} {
		r := nl.NewNetlinkRequest(subsysQueue|msgConfig, unix.NLM_F_ACK)
		r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_NETFILTER: {Socket: s}}
		r.Data = append([]nl.NetlinkRequestData{&nl.Nfgenmsg{}}, attributes...)
		if _, err := r.Execute(unix.NETLINK_NETFILTER, 0); err != nil {
			return -1, err
		}
	}
	// The runtime's poller, which would wake up for each packet, watches only the first descriptor.
	return unix.FcntlInt(uintptr(s.GetFd()), unix.F_DUPFD_CLOEXEC, 0)
}

func be32(attribute int, v uint32) nl.NetlinkRequestData {
	return nl.NewRtAttr(attribute, binary.BigEndian.AppendUint32(nil, v))
}

// set changes what the packets of a device meet from now on. It serves one caller at a time.
func (q *queue) set(index uint32, s Setting) {
	settings := maps.Clone(*q.settings.Load())
	settings[index] = s
	q.settings.Store(&settings)
}

// close ends the queue; the kernel drops the packets in it.
func (q *queue) close() error {
	q.closed.Store(true)
	if q.started {
		<-q.ended
	}
	return unix.Close(q.fd)
}

// look is how often an idle queue notices that it was closed.
const look = 100 * time.Millisecond

// run holds and releases packets until the queue is closed.
func (q *queue) run() error {
	defer close(q.ended)
	runtime.LockOSThread()
	q.thread.Store(int32(unix.Gettid()))
	// Timers of ordinary threads fire up to 50 µs late, to save power (prctl(2)).
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	poll := []unix.PollFd{{Fd: int32(q.fd), Events: unix.POLLIN}}
	for !q.closed.Load() {
		wait, now := int64(look), monotonic()
		for _, p := range q.ports {
			if len(p.waiting) > 0 {
				wait = min(wait, max(p.waiting[0].due-now, 0))
			}
		}
		timeout := unix.NsecToTimespec(wait)
		if _, err := unix.Ppoll(poll, &timeout, nil); err != nil && err != unix.EINTR {
			return os.NewSyscallError("ppoll", err)
		}
		if err := q.read(); err != nil {
			return err
		}
		if err := q.release(); err != nil {
			return err
		}
	}
	return nil
}

func clock(id int32) int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(id, &t) // these clocks exist in every kernel
	return t.Nano()
}

func monotonic() int64 { return clock(unix.CLOCK_MONOTONIC) }

// read takes the packets that arrived since the last read.
func (q *queue) read() error {
	ahead := monotonic() - clock(unix.CLOCK_REALTIME)
	settings := *q.settings.Load()
	for range readsAtOnce {
		n, err := unix.Read(q.fd, q.buf)
		switch {
		case err == unix.EAGAIN:
			return nil
		case err == unix.EINTR:
			continue
		case err != nil:
			return os.NewSyscallError("read", err)
		}
		a, ok := parsePacket(q.buf[:n])
		if !ok {
			continue // an answer
		}
		q.take(a.out, a.id, arrived(a.at+ahead, monotonic()), settings[a.out])
	}
	return nil
}

// arrived returns when a packet arrived, by CLOCK_MONOTONIC: at its stamp, or now if it has none or
// the wall clock was set meanwhile. A packet can arrive after now was read.
func arrived(stamp, now int64) int64 {
	if stamp < now-int64(maxLate) || stamp > now+int64(time.Second) {
		return now
	}
	return stamp
}

// take decides about a packet that arrived at a time of CLOCK_MONOTONIC.
func (q *queue) take(out, id uint32, at int64, s Setting) {
	if s.Loss > 0 && rand.Float64() < s.Loss {
		q.mu.Lock()
		q.done.Lost++
		q.mu.Unlock()
		q.order(msgVerdict, id, nfDrop)
		return
	}
	p := q.ports[out]
	if p == nil {
		p = &port{}
		q.ports[out] = p
	}
	p.last = due(p.last, at, s, rand.Float64())
	p.waiting = append(p.waiting, packet{id, p.last})
}

// due returns when a packet that arrived at a time goes on: not before the last one. chance is uniform
// in 0 to 1.
func due(last, at int64, s Setting, chance float64) int64 {
	return max(last, at+int64(s.Delay)+int64((2*chance-1)*float64(s.Jitter)))
}

// release lets the packets that are due go on: with one verdict if they are the oldest of all.
func (q *queue) release() error {
	now, oldest, newest := monotonic(), uint32(math.MaxUint32), uint32(0)
	q.mu.Lock()
	q.due = q.due[:0]
	for _, p := range q.ports {
		n := 0
		for ; n < len(p.waiting) && p.waiting[n].due <= now; n++ {
			_ = q.late.RecordValue(now - p.waiting[n].due) // fails above maxLate
			q.due = append(q.due, p.waiting[n].id)
		}
		if n > 0 {
			newest = max(newest, p.waiting[n-1].id)
			p.waiting = p.waiting[n:] // append moves the rest when the array is used up
		}
		if len(p.waiting) > 0 {
			oldest = min(oldest, p.waiting[0].id)
		}
	}
	q.done.Packets += uint64(len(q.due))
	q.mu.Unlock()
	switch {
	case len(q.due) == 0:
	case newest < oldest:
		q.order(msgVerdicts, newest, nfAccept)
	default:
		for _, id := range q.due {
			q.order(msgVerdict, id, nfAccept)
			if len(q.orders) < sendAtOnce {
				continue
			}
			if err := q.send(); err != nil {
				return err
			}
		}
	}
	return q.send()
}

// order adds a verdict about packet id or, as msgVerdicts, about all up to it. It allocates nothing, unlike libraries:
// this and parsePacket are all that the program does for most packets.
func (q *queue) order(typ uint16, id, verdict uint32) {
	const size = unix.SizeofNlMsghdr + 4 + unix.SizeofRtAttr + 8
	b := binary.NativeEndian.AppendUint32(q.orders, size)
	b = binary.NativeEndian.AppendUint16(b, subsysQueue|typ)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, unix.AF_UNSPEC, unix.NFNETLINK_V0, 0, 0) // no sequence, no port; queue 0
	b = binary.NativeEndian.AppendUint16(b, unix.SizeofRtAttr+8)
	b = binary.NativeEndian.AppendUint16(b, packetVerdict)
	q.orders = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, verdict), id)
}

// send sends the verdicts. The kernel answers only those that fail, because the packet has gone with
// its port; read ignores that.
func (q *queue) send() error {
	if len(q.orders) == 0 {
		return nil
	}
	err := os.NewSyscallError("send", unix.Send(q.fd, q.orders, 0))
	q.orders = q.orders[:0]
	return err
}

// count returns and forgets what the queue did. It serves one caller at a time.
func (q *queue) count() (Count, error) {
	q.mu.Lock()
	c := q.done
	c.Late99, c.LateMax = float64(q.late.ValueAtPercentile(99))/1e9, float64(q.late.Max())/1e9
	q.done = Count{}
	q.late.Reset()
	q.mu.Unlock()
	// The CPU-time clock of a thread by its number (kernel/time/posix-cpu-timers.c, CPUCLOCK_SCHED).
	cpu := clock(^q.thread.Load()<<3 | 6)
	now := monotonic()
	c.Busy = float64(cpu-q.cpu) / float64(now-q.counted)
	q.cpu, q.counted = cpu, now
	dropped, err := droppedPackets()
	c.Dropped = dropped - q.dropped
	q.dropped = dropped
	return c, err
}
