package sock

import (
	"fmt"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// Family returns AF_INET or AF_INET6.
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

// AddrPort is the inverse of Sockaddr. An IPv4 address inside an IPv6 one, as
// dual-stack sockets return it, becomes IPv4.
func AddrPort(sa unix.Sockaddr) (netip.AddrPort, error) {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)), nil
	case *unix.SockaddrInet6:
		a := netip.AddrFrom16(sa.Addr).Unmap()
		if sa.ZoneId != 0 && a.Is6() {
			a = a.WithZone(strconv.FormatUint(uint64(sa.ZoneId), 10))
		}
		return netip.AddrPortFrom(a, uint16(sa.Port)), nil
	}
	return netip.AddrPort{}, fmt.Errorf("socket: unexpected address %T", sa)
}

// OwnAddr returns the address that a socket is bound to.
func OwnAddr(fd int) (netip.AddrPort, error) {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("socket: own address: %w", err)
	}
	return AddrPort(sa)
}
