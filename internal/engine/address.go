package engine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// DefaultPort is the port after iperf3's, so both can run.
const DefaultPort = 5202

// parseServer reads ADDR:PORT. It refuses names: a lookup would be traffic, and could give
// different answers in two places.
func parseServer(command, s string) (netip.AddrPort, error) {
	ap, err := netip.ParseAddrPort(s)
	if err != nil || ap.Addr().Zone() != "" {
		return ap, fmt.Errorf("%w: %s: %q is not a literal address (without a zone) and port, such as 10.64.1.1:5201 or [fd77::1]:5201", ErrUsage, command, s)
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), nil
}

// splitHost reads HOST, HOST:PORT, ADDR, ADDR:PORT or [ADDR]:PORT; an address can have a zone
// (RFC 4007, section 11).
func splitHost(s string) (host string, port uint16, err error) {
	host, port = s, DefaultPort
	bare := s
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		bare = s[1 : len(s)-1]
	}
	if a, err := netip.ParseAddr(bare); err == nil && !strings.ContainsAny(a.Zone(), ": \t\n/[]") {
		return bare, port, nil
	}
	if strings.Contains(s, ":") {
		var number string
		if host, number, err = net.SplitHostPort(s); err == nil {
			var n uint64
			n, err = strconv.ParseUint(number, 10, 16)
			port = uint16(n)
		}
	}
	if err == nil && strings.Contains(host, ":") { // as in [x:y]:1, which is no address
		_, err = netip.ParseAddr(host)
	}
	if err != nil || strings.ContainsAny(host, " \t\n/[]") {
		return "", 0, fmt.Errorf("%q is not HOST, HOST:PORT or [ADDR]:PORT with a port from 0 to 65535", s)
	}
	return host, port, nil
}

// parseListen reads an address, a port, or both. Without an address the server listens on all, IPv4
// and IPv6.
func parseListen(s string) (netip.AddrPort, error) {
	any6 := netip.AddrPortFrom(netip.IPv6Unspecified(), DefaultPort)
	if s == "" {
		return any6, nil
	}
	host, port, err := splitHost(s)
	if err != nil {
		return any6, fmt.Errorf("%w: serve: %w", ErrUsage, err)
	}
	addr := netip.IPv6Unspecified()
	if host != "" {
		if addr, err = netip.ParseAddr(host); err == nil {
			addr, err = numberZone(addr.Unmap())
		}
	}
	if err != nil {
		return any6, fmt.Errorf("%w: serve: %q is not an address of this machine, such as 10.0.0.1, [fd77::1]:5202 or :5202: %w", ErrUsage, s, err)
	}
	return netip.AddrPortFrom(addr, port), nil
}

// numberZone replaces an interface name in an address by its number, as the kernel expects.
func numberZone(a netip.Addr) (netip.Addr, error) {
	if a.Zone() == "" {
		return a, nil
	}
	if _, err := strconv.ParseUint(a.Zone(), 10, 32); err == nil {
		return a, nil
	}
	i, err := net.InterfaceByName(a.Zone())
	if err != nil {
		return a, fmt.Errorf("%s: this machine has no interface %q; see ip link", a, a.Zone())
	}
	return a.WithZone(strconv.Itoa(i.Index)), nil
}

// resolve looks up a server. Of several addresses it returns the first that accepts a connection
// (RFC 8305, as package net does), otherwise any: the caller finds out why it fails.
func resolve(ctx context.Context, host string, port uint16, timeout time.Duration) (netip.AddrPort, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		a, err = numberZone(a.Unmap())
		return netip.AddrPortFrom(a, port), err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%w; use an address instead of the name, or fix /etc/hosts or the resolver", err)
	}
	if len(addrs) > 1 {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
		if err == nil {
			defer conn.Close()
			if to, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
				addrs = []netip.Addr{to.Addr()}
			}
		}
	}
	a, err := numberZone(addrs[0].Unmap())
	return netip.AddrPortFrom(a, port), err
}
