package relay

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// A Neighbour is a relay that this one reaches directly. Relays form a tree, usually
// a line: a frame for an unknown station goes to all ports except the one it came from.
type Neighbour struct {
	Local, Remote netip.AddrPort
	Delay         time.Duration // of everything sent there, as on a long wire; 0 to MaxDelay
}

// MaxDelay of a Neighbour.
const MaxDelay = time.Second

// ParseNeighbour parses LOCAL,REMOTE or LOCAL,REMOTE,DELAY.
func ParseNeighbour(s string) (n Neighbour, err error) {
	parts := strings.Split(s, ",")
	if len(parts) != 2 && len(parts) != 3 {
		return n, fmt.Errorf("invalid neighbour %q: want LOCAL,REMOTE or LOCAL,REMOTE,DELAY", s)
	}
	if n.Local, err = netip.ParseAddrPort(parts[0]); err != nil {
		return n, err
	}
	if n.Remote, err = netip.ParseAddrPort(parts[1]); err != nil {
		return n, err
	}
	if len(parts) == 3 {
		if n.Delay, err = time.ParseDuration(parts[2]); err != nil {
			return n, err
		}
	}
	if n.Delay < 0 || n.Delay > MaxDelay {
		return n, fmt.Errorf("invalid delay %v: want 0 to %v", n.Delay, MaxDelay)
	}
	return n, nil
}
