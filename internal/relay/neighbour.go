package relay

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// A Neighbour is a relay that is reached directly. Together they form a tree, a
// line most often: frames for unknown stations go to all but where they came from.
type Neighbour struct {
	Local, Remote netip.AddrPort
	Delay         time.Duration // that what is sent there is held back, as by a long wire; 0 to MaxDelay
}

// MaxDelay of a Neighbour.
const MaxDelay = time.Second

// ParseNeighbour reads LOCAL,REMOTE or LOCAL,REMOTE,DELAY.
func ParseNeighbour(s string) (n Neighbour, err error) {
	parts := strings.Split(s, ",")
	if len(parts) != 2 && len(parts) != 3 {
		return n, fmt.Errorf("%q is not LOCAL,REMOTE or LOCAL,REMOTE,DELAY", s)
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
		return n, fmt.Errorf("delay %v is outside 0..%v", n.Delay, MaxDelay)
	}
	return n, nil
}
