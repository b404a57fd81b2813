package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// An nlSocket is a netlink socket in the network namespace of the thread that opened it (netlink(7)).
type nlSocket int

func openNetlink(protocol int) (nlSocket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return 0, fmt.Errorf("open a netlink socket: %w", err)
	}
	return nlSocket(fd), nil
}

func (n nlSocket) close() { unix.Close(int(n)) }

// maxDump is the most that the kernel puts into one read of a dump (netlink_dump,
// net/netlink/af_netlink.c).
const maxDump = 32 << 10

// ask sends one request and calls each with every message of the answer, whose data it must not keep. With
// flags of NLM_F_DUMP the answer has all objects, otherwise one message.
func (n nlSocket) ask(kind, flags int, body []byte, each func(syscall.NetlinkMessage)) error {
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	b = binary.NativeEndian.AppendUint16(b, uint16(kind))
	b = binary.NativeEndian.AppendUint16(b, uint16(unix.NLM_F_REQUEST|flags))
	b = append(b, make([]byte, 8)...) // sequence and port: the socket has one request at a time
	if err := unix.Sendto(int(n), append(b, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	for buf := make([]byte, maxDump); ; {
		size, _, err := unix.Recvfrom(int(n), buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		ms, err := syscall.ParseNetlinkMessage(buf[:size])
		if err != nil {
			return err
		}
		for _, m := range ms {
			switch m.Header.Type {
			case unix.NLMSG_ERROR, unix.NLMSG_DONE: // both begin with a negative error number, or 0
				if code := int32(word(m.Data)); code != 0 {
					return syscall.Errno(-code)
				}
				return nil
			}
			each(m)
			if flags&unix.NLM_F_DUMP == 0 {
				return nil
			}
		}
	}
}
