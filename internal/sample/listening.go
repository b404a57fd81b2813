package sample

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// states of a server's sockets in /proc/net/{tcp,udp}: LISTEN and CLOSE (include/net/tcp_states.h).
// A bound UDP socket without a peer is in state CLOSE (udp4_format_sock, net/ipv4/udp.c).
var states = map[string]uint64{"tcp": 0x0a, "udp": 0x07}

// Listening reports whether a server waits on port on any IPv4 or IPv6 address: a listening TCP
// socket, or a bound UDP socket without a peer. Unlike a connection, this does not use up a server
// that serves only one client. proto is "tcp" or "udp".
func Listening(root fs.FS, proto string, port uint16) (bool, error) {
	state, ok := states[proto]
	if !ok {
		return false, fmt.Errorf("invalid protocol %q: want tcp or udp", proto)
	}
	var missing []error
	for _, name := range []string{"proc/net/" + proto, "proc/net/" + proto + "6"} {
		b, err := fs.ReadFile(root, name)
		if errors.Is(err, fs.ErrNotExist) { // the node has only one of IPv4 and IPv6
			missing = append(missing, err)
			continue
		} else if err != nil {
			return false, err
		}
		if ok, err := hasSocket(b, port, state); err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		} else if ok {
			return true, nil
		}
	}
	if len(missing) == 2 {
		return false, errors.Join(missing...)
	}
	return false, nil
}

// hasSocket looks for a socket with this local port and state in a table like that of tcp4_seq_show
// (net/ipv4/tcp_ipv4.c): a header, then "sl local_address rem_address st …" with addresses and
// ports in hexadecimal.
func hasSocket(b []byte, port uint16, state uint64) (bool, error) {
	ls := lines(b)
	if !strings.Contains(ls[0], "local_address") {
		return false, fmt.Errorf("no header in line 1")
	}
	for i, line := range ls[1:] {
		f := strings.Fields(line)
		if len(f) < 4 {
			return false, fmt.Errorf("line %d: %d columns: want at least 4", i+2, len(f))
		}
		_, hex, _ := strings.Cut(f[1], ":")
		p, err := strconv.ParseUint(hex, 16, 16)
		if err != nil {
			return false, fmt.Errorf("line %d: local address %.60q has no port", i+2, f[1])
		}
		st, err := strconv.ParseUint(f[3], 16, 8)
		if err != nil {
			return false, fmt.Errorf("line %d: invalid state %.40q: want a hexadecimal number", i+2, f[3])
		}
		if p == uint64(port) && st == state {
			return true, nil
		}
	}
	return false, nil
}
