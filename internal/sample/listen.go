package sample

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Listening reports whether a socket waits on a port of the node: a TCP socket
// that listens, a UDP socket that is bound. It connects to nobody, so a server
// that serves one client is still there for that client. proto is tcp or udp.
func Listening(root fs.FS, proto string, port uint16) (bool, error) {
	for _, file := range []string{"proc/net/" + proto, "proc/net/" + proto + "6"} {
		lines, err := readLines(root, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // no IPv6
		}
		if err != nil {
			return false, err
		}
		for i, line := range lines {
			f := strings.Fields(line)
			if i == 0 || len(f) == 0 {
				continue
			}
			if len(f) < 4 {
				return false, fmt.Errorf("%s:%d: %d columns, want at least 4", file, i+1, len(f))
			}
			_, hex, _ := strings.Cut(f[1], ":")
			p, err := strconv.ParseUint(hex, 16, 16)
			if err != nil {
				return false, fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
			// TCP_LISTEN, include/net/tcp_states.h; a bound UDP socket that is
			// not connected is in state 07, but only its port matters.
			if uint16(p) == port && (proto == "udp" || f[3] == "0A") {
				return true, nil
			}
		}
	}
	return false, nil
}
