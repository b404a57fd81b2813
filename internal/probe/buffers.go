package probe

import (
	"cmp"
	"strconv"

	"github.com/weir-bench/weir/internal/engine/event"
)

// Buffers are options of probes that fill a socket's buffer. The kernel grants net.core.wmem_max and
// rmem_max at most, and TCP then no longer adapts the buffer to the path (tcp(7)).
type Buffers struct {
	SndBuf int `yaml:"sndbuf"` // bytes to request for the client's send buffer; default the kernel's
	RcvBuf int `yaml:"rcvbuf"` // bytes to request for the server's receive buffer; default the kernel's, UDP 4 MiB
}

func (b Buffers) check() error {
	return cmp.Or(event.Within("sndbuf:", b.SndBuf, 0, event.MaxBuffer, "bytes"), event.Within("rcvbuf:", b.RcvBuf, 0, event.MaxBuffer, "bytes"))
}

func (b Buffers) flags() (flags []string) {
	if b.SndBuf > 0 {
		flags = append(flags, "--sndbuf", strconv.Itoa(b.SndBuf))
	}
	if b.RcvBuf > 0 {
		flags = append(flags, "--rcvbuf", strconv.Itoa(b.RcvBuf))
	}
	return flags
}
