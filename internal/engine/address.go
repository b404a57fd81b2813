package engine

import (
	"fmt"
	"net/netip"
	"strings"
)

// DefaultPort is the port after iperf3's, so both can run.
const DefaultPort = 5202

// parseServer reads ADDR:PORT or ADDR. It refuses names: a lookup would be traffic, and could give
// different answers in two places.
func parseServer(command, s string) (netip.AddrPort, error) {
	ap, err := netip.ParseAddrPort(s)
	if addr, plain := netip.ParseAddr(s); plain == nil {
		ap, err = netip.AddrPortFrom(addr, DefaultPort), nil
	}
	if err != nil || ap.Addr().Zone() != "" {
		return ap, fmt.Errorf("%w: %s: %q is not a literal address (without a zone), with or without a port, such as 10.64.1.1:5201 or [fd77::1]:5201", ErrUsage, command, s)
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), nil
}

// parseListen reads an address, a port, or both. Without an address the server listens on all, IPv4
// and IPv6.
func parseListen(s string) (netip.AddrPort, error) {
	switch {
	case s == "":
		return netip.AddrPortFrom(netip.IPv6Unspecified(), DefaultPort), nil
	case strings.HasPrefix(s, ":") && !strings.HasPrefix(s, "::"):
		s = "[::]" + s
	}
	return parseServer("serve", s)
}
