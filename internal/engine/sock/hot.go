package sock

import (
	"net/netip"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Telling the Go runtime that a system call begins and ends would cost 5 to 8 % of the rate of
// small datagrams. It also keeps the runtime's monitor awake, which takes the P of a call that lasts for 10 ms and
// then wakes up every 20 µs for a while: thousands of times a second next to a thread that reads
// (sysmon and retake, runtime/proc.go, Go 1.26). So the calls that a measured window repeats
// do not tell the runtime, except those that make and close connections. They rely on three conditions:
//
//   - The thread has all signals blocked (OnThread): the runtime believes that it
//     computes, and would interrupt it with SIGURG every 10 ms.
//   - There are more Ps than such threads (RoomFor): a call that blocks keeps its P,
//     and without spare ones nothing would run timers, the context or the other
//     goroutines.
//   - Every call returns within a Tick: it does not block, or the socket has timeouts
//     (SetTimeouts). Stopping the world (a collection, runtime.GOMAXPROCS) waits for
//     that, and then for the preemption check at the start of these functions, which
//     therefore must not be inlined.
//
// A thread that waits for its peer to begin uses Send, Recv and the like, and best waits long (Await).
//
// The calls are those of package syscall: x/sys/unix jumps there through a wrapper that moves all
// arguments to the stack and back.

// spareProcs is the number of Ps for everything but the hot loops.
const spareProcs = 4

// RoomFor makes room for n hot loops. Call it before they begin, since it stops the world. From
// then on the runtime does not adapt the number of Ps to the limits of the cgroup.
func RoomFor(n int) {
	if want := max(n, runtime.NumCPU()) + spareProcs; runtime.GOMAXPROCS(0) < want {
		runtime.GOMAXPROCS(want)
	}
}

func HotSend(fd int, b []byte, flags uintptr) (int, unix.Errno) {
	return hotSendTo(fd, b, flags, nil, 0)
}

// HotRecv reads from a connected socket.
func HotRecv(fd int, b []byte, flags uintptr) (int, unix.Errno) {
	return hotRecvFrom(fd, b, flags, nil, nil, 1)
}

// hotSendTo is sendto; a nil address is the peer of a connected socket.
//
//go:noinline
func hotSendTo(fd int, b []byte, flags uintptr, to *unix.RawSockaddrAny, toLen uint32) (int, unix.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), flags|unix.MSG_NOSIGNAL, uintptr(unsafe.Pointer(to)), uintptr(toLen))
	return int(n), errno
}

// hotRecvFrom tries at most tries times, and returns the sender unless from is nil.
//
//go:noinline
func hotRecvFrom(fd int, b []byte, flags uintptr, from *unix.RawSockaddrAny, fromLen *uint32, tries int) (int, unix.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), flags, uintptr(unsafe.Pointer(from)), uintptr(unsafe.Pointer(fromLen)))
		if tries--; errno != unix.EAGAIN || tries <= 0 {
			return int(n), errno
		}
	}
}

//go:noinline
func hotSendMessage(fd int, m *unix.Msghdr) (int, unix.Errno) {
	n, _, errno := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(m)), unix.MSG_NOSIGNAL)
	return int(n), errno
}

//go:noinline
func hotSendMany(fd int, ms []mmsghdr) (int, unix.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&ms[0])), uintptr(len(ms)), unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

//go:noinline
func hotRecvMessage(fd int, m *unix.Msghdr, flags uintptr) (int, unix.Errno) {
	n, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(m)), flags)
	return int(n), errno
}

//go:noinline
func hotRecvMany(fd int, ms []mmsghdr, flags uintptr) (int, unix.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&ms[0])), uintptr(len(ms)), flags, 0, 0)
	return int(n), errno
}

// HotAccept takes a connection. It inherits the listener's timeouts.
//
//go:noinline
func HotAccept(listener int) (fd int, peer netip.Addr, errno unix.Errno) {
	var name unix.RawSockaddrAny
	length := uint32(unix.SizeofSockaddrAny)
	n, _, errno := syscall.RawSyscall6(unix.SYS_ACCEPT4, uintptr(listener), uintptr(unsafe.Pointer(&name)), uintptr(unsafe.Pointer(&length)), unix.SOCK_CLOEXEC, 0, 0)
	if errno != 0 {
		return -1, peer, errno
	}
	return int(n), addr(&name), 0
}

// HotNap sleeps for d, or less if something wakes it.
//
//go:noinline
func HotNap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// HotPoll waits for events on a socket, for at most d and a Tick, and returns those that came. POLLERR is
// always among those that it waits for.
//
//go:noinline
func HotPoll(fd int, events int16, d time.Duration) int16 {
	p := unix.PollFd{Fd: int32(fd), Events: events}
	ts := unix.NsecToTimespec(int64(min(d, Tick)))
	syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	return p.Revents
}

// mmsghdr is struct mmsghdr of sendmmsg(2) and recvmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32 // bytes sent or received
}
