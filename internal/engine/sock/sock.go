// Package sock is the engine's interface to the kernel: sockets and their options, the system calls
// of hot loops (hot.go), batches (bulk.go, sender.go), time stamps (stamp.go), error queues,
// threads and CPUs.
//
// It knows the datagram's header (package wire) but no workload, counts nothing for results except
// the datagrams of a sender, and prints nothing. Functions for hot loops do not allocate.
package sock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// Listen binds a socket to at. An IPv6 socket takes only IPv6 unless bound to the unspecified
// address.
func Listen(kind int, at netip.AddrPort) (int, error) { return listen(kind, at, false) }

// ListenShared binds a UDP socket to a port that other sockets of this user can share (SO_REUSEPORT, socket(7)). A
// datagram goes to the one that is connected to its sender, otherwise to one that is bound to its destination, otherwise
// to one that is bound to the unspecified address. To connect one of those also binds it to the address of its route.
func ListenShared(at netip.AddrPort) (int, error) { return listen(unix.SOCK_DGRAM, at, true) }

func listen(kind int, at netip.AddrPort, share bool) (int, error) {
	fd, err := unix.Socket(Family(at.Addr()), kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("listen %v: %w", at, err)
	}
	if err := bindListen(fd, kind, at, share); err != nil {
		unix.Close(fd)
		switch {
		case errors.Is(err, unix.EADDRINUSE):
			err = fmt.Errorf("%w: another program is listening there; stop it, or choose another port", err)
		case errors.Is(err, unix.EADDRNOTAVAIL):
			err = fmt.Errorf("%w: this machine does not have the address; see ip addr", err)
		}
		return -1, fmt.Errorf("listen %v: %w", at, err)
	}
	return fd, nil
}

func bindListen(fd, kind int, at netip.AddrPort, share bool) error {
	var err error
	if share {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	}
	if kind == unix.SOCK_STREAM { // for UDP this would let two servers share a port
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if at.Addr().Is6() {
		only := 1
		if at.Addr().IsUnspecified() && !share {
			only = 0
		}
		err = cmp.Or(err, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, only))
	}
	if err = cmp.Or(err, unix.Bind(fd, Sockaddr(at))); err == nil && kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, wire.MaxStreams)
	}
	return err
}

func SetTimeouts(fd int, d time.Duration) error {
	tv := unix.NsecToTimeval(int64(d))
	err := errors.Join(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv))
	if err != nil {
		return fmt.Errorf("socket: timeouts: %w", err)
	}
	return nil
}

// SetBuffer requests a buffer of size bytes, unless size is 0, and returns the size in effect. opt
// is SO_SNDBUF or SO_RCVBUF. The kernel doubles the request to cover its bookkeeping, and caps it
// at net.core.{w,r}mem_max unless the caller is privileged (socket(7)).
func SetBuffer(fd, opt, size int) (int, error) {
	force := map[int]int{unix.SO_SNDBUF: unix.SO_SNDBUFFORCE, unix.SO_RCVBUF: unix.SO_RCVBUFFORCE}[opt]
	if size > 0 && unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, size) != nil {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, opt, size); err != nil {
			return 0, fmt.Errorf("socket: buffer of %d bytes: %w", size, err)
		}
	}
	got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, opt)
	if err != nil {
		return 0, fmt.Errorf("socket: buffer size: %w", err)
	}
	return got, nil
}

// ipOption returns the level and name of an option that IPv4 and IPv6 share.
func ipOption(v6 bool, four, six int) (level, opt int) {
	if v6 {
		return unix.IPPROTO_IPV6, six
	}
	return unix.IPPROTO_IP, four
}

func set(fd, level, opt, v int, what string) error {
	if err := unix.SetsockoptInt(fd, level, opt, v); err != nil {
		return fmt.Errorf("socket: %s: %w", what, err)
	}
	return nil
}

// SetDSCP sets the code point of outgoing packets (RFC 2474) and returns the one in effect.
func SetDSCP(fd int, v6 bool, dscp int) (int, error) {
	level, opt := ipOption(v6, unix.IP_TOS, unix.IPV6_TCLASS)
	if err := set(fd, level, opt, dscp<<2, "DSCP"); err != nil {
		return 0, err
	}
	got, err := unix.GetsockoptInt(fd, level, opt)
	if err != nil {
		return 0, fmt.Errorf("socket: DSCP: %w", err)
	}
	return got >> 2, nil
}

// SetCC sets the congestion control of a TCP socket, "" the machine's default, and returns the one
// in effect.
func SetCC(fd int, name string) (string, error) {
	if name != "" {
		if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name); err != nil {
			return "", fmt.Errorf("congestion control %s: %w (%s)", name, err, knownCC(err))
		}
	}
	got, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	if err != nil {
		return "", fmt.Errorf("congestion control: %w", err)
	}
	if name != "" && got != name {
		return "", fmt.Errorf("congestion control %s was set, but %s is in effect", name, got)
	}
	return got, nil
}

// SetTCP prepares a TCP socket for data, and returns the settings in effect: congestion control
// (with anyCC the machine's own where cc is not allowed or unknown), the size of the buffer opt, and
// the DSCP. Messages leave at once (TCP_NODELAY).
func SetTCP(fd int, v6 bool, cc string, anyCC bool, opt, size, dscp int) (gotCC string, gotSize, gotDSCP int, err error) {
	gotCC, err = SetCC(fd, cc)
	if anyCC && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOENT)) { // tcp_set_congestion_control, net/ipv4/tcp_cong.c
		gotCC, err = SetCC(fd, "")
	}
	if err == nil {
		gotSize, err = SetBuffer(fd, opt, size)
	}
	if err == nil {
		gotDSCP, err = SetDSCP(fd, v6, dscp)
	}
	return gotCC, gotSize, gotDSCP, cmp.Or(err, unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
}

func knownCC(err error) string {
	key, what, remedy := "tcp_available_congestion_control", "this kernel has", ""
	if errors.Is(err, unix.EPERM) {
		key, what, remedy = "tcp_allowed_congestion_control", "without CAP_NET_ADMIN, this machine allows", "; add it there with sysctl, or ask for one of these"
	}
	b, _ := os.ReadFile("/proc/sys/net/ipv4/" + key) // a pod of Linux before 5.13 cannot read what is allowed
	return fmt.Sprintf("%s %s: net.ipv4.%s%s", what, cmp.Or(strings.Join(strings.Fields(string(b)), ", "), "others"), key, remedy)
}

func ConnectTCP(ctx context.Context, fd int, server netip.AddrPort, timeout time.Duration) error {
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	err := unix.Connect(fd, Sockaddr(server))
	if errors.Is(err, unix.EINPROGRESS) || errors.Is(err, unix.EINTR) {
		err = WaitConnected(ctx, fd, Now()+int64(timeout))
	}
	if err != nil {
		return err
	}
	return unix.SetNonblock(fd, false)
}

func WaitConnected(ctx context.Context, fd int, deadline int64) error {
	for Now() < deadline {
		if ctx.Err() != nil {
			return ErrStopped
		}
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, err := unix.Poll(p, int(Tick/time.Millisecond/2))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if n > 0 {
			v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
			if err == nil && v != 0 {
				err = unix.Errno(v)
			}
			return err
		}
	}
	return unix.ETIMEDOUT
}

// CloseAll ignores failures, which change no measurement.
func CloseAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// SetDiscover sets path MTU discovery (ip(7)): IP_PMTUDISC_PROBE sets DF and ignores what the route
// has learned, IP_PMTUDISC_WANT is the default. IPv6 has the same values.
func SetDiscover(fd int, v6 bool, mode int) error {
	level, opt := ipOption(v6, unix.IP_MTU_DISCOVER, unix.IPV6_MTU_DISCOVER)
	return set(fd, level, opt, mode, "path MTU discovery")
}

// DialUDP returns a connected socket that reports errors, and its send buffer's size in effect,
// without waiting for the server.
func DialUDP(server netip.AddrPort, sndBuf int, timeout time.Duration) (fd, got int, err error) {
	fd, err = unix.Socket(Family(server.Addr()), unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, 0, fmt.Errorf("engine: udp %v: socket: %w", server, err)
	}
	got, err = SetBuffer(fd, unix.SO_SNDBUF, sndBuf)
	if err = cmp.Or(err, reportErrors(fd, server.Addr().Is6()), SetTimeouts(fd, timeout), unix.Connect(fd, Sockaddr(server))); err != nil {
		unix.Close(fd)
		return -1, 0, fmt.Errorf("engine: udp %v: %w", server, err)
	}
	return fd, got, nil
}

func Family(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// Sockaddr returns the kernel's form of an address. A zone must be a number.
func Sockaddr(ap netip.AddrPort) unix.Sockaddr {
	if ap.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(ap.Port()), Addr: ap.Addr().As4()}
	}
	zone, _ := strconv.ParseUint(ap.Addr().Zone(), 10, 32) // "" is 0, no zone
	return &unix.SockaddrInet6{Port: int(ap.Port()), Addr: ap.Addr().As16(), ZoneId: uint32(zone)}
}

// AddrPort is the inverse of Sockaddr. An IPv4 address inside an IPv6 one, as dual-stack sockets
// return it, becomes IPv4.
func AddrPort(sa unix.Sockaddr) (netip.AddrPort, error) {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)), nil
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(inet6(sa.Addr, sa.ZoneId), uint16(sa.Port)), nil
	}
	return netip.AddrPort{}, fmt.Errorf("socket: unexpected address %T", sa)
}

func inet6(addr [16]byte, zone uint32) netip.Addr {
	a := netip.AddrFrom16(addr).Unmap()
	if zone != 0 && a.Is6() {
		a = a.WithZone(strconv.FormatUint(uint64(zone), 10))
	}
	return a
}

func OwnAddr(fd int) (netip.AddrPort, error) {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("socket: own address: %w", err)
	}
	return AddrPort(sa)
}

// Pace limits a TCP socket to bits per second of payload and returns the rate in effect. Without fq
// the kernel spaces segments itself since Linux 4.13 (SO_MAX_PACING_RATE, sk_setsockopt in
// net/core/sock.c; tcp_update_skb_after_send in net/ipv4/tcp_output.c charges the payload from the
// eleventh segment on), at rates of 64 bits since 4.20. Slower streams get smaller segments, about
// a millisecond of data each (tcp_tso_autosize).
//
// Unsent data is limited to 10 ms (TCP_NOTSENT_LOWAT, tcp(7)): the send buffer grows to megabytes,
// which a slow stream would take long to drain.
func Pace(fd int, bits float64) (float64, error) {
	bytes := uint64(bits / 8)
	if err := unix.SetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, bytes); err != nil {
		return 0, fmt.Errorf("pace to %g bit/s: %w%s", bits, err, Lacks(err, "a pacing rate of 64 bits, which came with Linux 4.20", "leave out the rate"))
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, int(min(max(bytes/100, event.MinQueue), wire.MaxBuffer))); err != nil {
		return 0, fmt.Errorf("pace to %g bit/s: bound the queue: %w", bits, err)
	}
	got, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE)
	if err != nil {
		return 0, fmt.Errorf("pace to %g bit/s: %w", bits, err)
	}
	return float64(got) * 8, nil
}
