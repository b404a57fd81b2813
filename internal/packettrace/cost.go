package packettrace

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/stat"
)

const (
	costBlocks = 50  // of which the median counts, as it does of the hops
	costPasses = 200 // datagrams in a block: a third of a millisecond
)

// Cost returns what recording one event takes in a mode, s: by how much longer a datagram over the loopback
// device of a new namespace takes while it is recorded, by the thread's CPU clock, which does not run while
// other programs have the CPU. Entry is the part of it before a program has read the clock: what an event of
// another namespace takes. Stamps of packet sockets are the kernel's own, without such a part.
func Cost(mode string) (event, entry float64, err error) {
	l, err := newLoop()
	if err != nil {
		return 0, 0, fmt.Errorf("cost of an event: %w", err)
	}
	defer func() { err = errors.Join(err, l.close()) }()
	without, err := l.measure()
	if err != nil {
		return 0, 0, err
	}
	if mode == ByBPF {
		if entry, err = l.dearer(mode, nowhere, without); err != nil {
			return 0, 0, err
		}
	}
	event, err = l.dearer(mode, l.inode, without)
	return event, entry, err
}

// dearer returns the CPU time that each event adds to a datagram, s, while a namespace is recorded.
func (l *loop) dearer(mode string, inode uint32, without float64) (float64, error) {
	stop, events, err := l.record(mode, inode)
	if err != nil {
		return 0, err
	}
	with, err := l.measure()
	return max(0, with-without) / events, errors.Join(err, stop())
}

// A loop is a namespace and two sockets in it.
type loop struct {
	ns       *netns.Namespace
	inode    uint32 // its number
	from, to int
}

func newLoop() (_ *loop, err error) {
	l := &loop{from: -1, to: -1}
	err = netns.Create(1, func(_ int, ns *netns.Namespace) error {
		l.ns = ns
		var s unix.Stat_t
		err := unix.Fstat(ns.FD(), &s)
		l.inode = uint32(s.Ino)
		return errors.Join(err, setUp("lo"), l.connect())
	})
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// setUp brings a device of this thread's namespace up.
func setUp(dev string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq(dev)
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP)
	return os.NewSyscallError("set "+dev+" up", unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r))
}

func (l *loop) connect() (err error) {
	for _, fd := range []*int{&l.from, &l.to} {
		if *fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
	}
	if err := unix.Bind(l.to, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	at, err := unix.Getsockname(l.to)
	if err != nil {
		return err
	}
	// A busy machine drops datagrams even here: the queue between device and softirq is one for all namespaces
	// of a CPU (netdev_max_backlog).
	patience := unix.Timeval{Usec: 100_000}
	return errors.Join(unix.Connect(l.from, at), unix.SetsockoptTimeval(l.to, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience))
}

func (l *loop) close() error {
	var errs []error
	for _, fd := range []int{l.from, l.to} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	if l.ns != nil {
		errs = append(errs, l.ns.Close())
	}
	return errors.Join(errs...)
}

// record begins to record a namespace, and returns how many events a datagram is.
func (l *loop) record(mode string, inode uint32) (stop func() error, events float64, err error) {
	if mode == ByTaps {
		var t *tap
		err := l.ns.Do(func() (err error) {
			t, err = openTap()
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		return t.close, 2, nil
	}
	t, err := Record(map[uint32]string{inode: "loop"})
	if err != nil {
		return nil, 0, err
	}
	return t.end, 5, nil
}

// measure returns the CPU time of a datagram, s.
func (l *loop) measure() (float64, error) {
	runtime.LockOSThread() // its clock
	defer runtime.UnlockOSThread()
	message := make([]byte, 64)
	var blocks []float64
	for range costBlocks {
		begin := threadTime()
		err := l.pass(message)
		switch {
		case errors.Is(err, unix.EAGAIN): // a datagram was lost, so its block does not count
		case err != nil:
			return 0, fmt.Errorf("cost of an event: %w", err)
		default:
			blocks = append(blocks, seconds(threadTime()-begin)/costPasses)
		}
	}
	if blocks == nil {
		return 0, errors.New("cost of an event: the machine lost a datagram in every block; stop other traffic on it")
	}
	return stat.LowerMiddle(blocks), nil
}

// pass sends the datagrams of a block, each after the last one has come.
func (l *loop) pass(message []byte) error {
	for range costPasses {
		if _, err := unix.Write(l.from, message); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		_, err := unix.Read(l.to, message)
		for errors.Is(err, unix.EINTR) { // the runtime's own signals end a wait with a timeout
			_, err = unix.Read(l.to, message)
		}
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
	}
	return nil
}

// threadTime returns the CPU time of this thread, ns.
func threadTime() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // cannot fail: every thread has this clock
	return t.Nano()
}
