package distance

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Constants of include/uapi/linux/netfilter/nfnetlink_queue.h and netfilter.h.
const (
	subsysQueue = unix.NFNL_SUBSYS_QUEUE << 8

	msgPacket, msgVerdict, msgConfig, msgVerdicts = 0, 1, 2, 3

	packetHeader, packetVerdict, packetTime, packetOut, packetPhysOut = 1, 2, 4, 6, 8

	configCommand, configParams, configLength, configMask, configFlags = 1, 2, 3, 4, 5

	commandBind = 1
	copyMeta    = 1
	flagGSO     = 1 << 2 // pass packets on before segmentation

	nfDrop, nfAccept = 0, 1
)

// An arrival is the kernel's report of a packet.
type arrival struct {
	id, out uint32 // its number; the index of the port that it is about to leave
	at      int64  // by CLOCK_REALTIME, ns; 0: unknown
}

// parsePacket reports false unless b is about a packet.
func parsePacket(b []byte) (a arrival, ok bool) {
	const head = unix.SizeofNlMsghdr + 4 // and struct nfgenmsg
	if len(b) < head || binary.NativeEndian.Uint16(b[4:]) != subsysQueue|msgPacket {
		return a, false
	}
	for b = b[head:]; len(b) >= unix.SizeofRtAttr; {
		size := int(binary.NativeEndian.Uint16(b))
		if size < unix.SizeofRtAttr || size > len(b) {
			break
		}
		v := b[unix.SizeofRtAttr:size]
		switch typ := binary.NativeEndian.Uint16(b[2:]) &^ unix.NLA_F_NESTED; {
		case typ == packetHeader && len(v) >= 4:
			a.id, ok = binary.BigEndian.Uint32(v), true
		case typ == packetTime && len(v) >= 16: // seconds, microseconds
			a.at = int64(binary.BigEndian.Uint64(v))*1e9 + int64(binary.BigEndian.Uint64(v[8:]))*1e3
		// The bridge is the device, and the port the physical one, if the kernel has bridge-nf.
		case typ == packetPhysOut && len(v) >= 4, typ == packetOut && len(v) >= 4 && a.out == 0:
			a.out = binary.BigEndian.Uint32(v)
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return a, ok
}

// droppedPackets returns how many packets have found no room since the queue began.
func droppedPackets() (uint64, error) {
	const file = "/proc/thread-self/net/netfilter/nfnetlink_queue"
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	dropped, err := parseDropped(string(b))
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return dropped, err
}

// parseDropped reads a line of queue number, owner, length, mode, range, dropped by a full queue,
// dropped by a full socket, … (net/netfilter/nfnetlink_queue.c, seq_show).
func parseDropped(line string) (uint64, error) {
	var number, owner, length, mode, size, full, unread uint64
	if _, err := fmt.Sscan(line, &number, &owner, &length, &mode, &size, &full, &unread); err != nil {
		return 0, fmt.Errorf("%.100q: %w", line, err)
	}
	return full + unread, nil
}
