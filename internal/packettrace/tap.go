package packettrace

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The ring of a packet socket (PACKET_RX_RING, Documentation/networking/packet_mmap.rst): its memory is not
// limited by net.core.rmem_max, which only root of the machine can exceed, and nobody wakes up for a packet.
const (
	frameSize  = 512
	frames     = 1 << 14 // 8 MiB: some 2,000 requests in a namespace with three devices
	blockSize  = 1 << 16
	frameBegin = 32 // of struct sockaddr_ll: TPACKET_ALIGN(sizeof(struct tpacket2_hdr)), linux/if_packet.h
)

// A tap is a packet socket on all devices of this process's network namespace. It needs CAP_NET_RAW there,
// which root of a user namespace has.
type tap struct {
	fd   int
	ring []byte
}

func openTap() (_ *tap, err error) {
	t := &tap{}
	if t.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil { // 0: no packets before bind
		return nil, fmt.Errorf("packet socket: %w (it needs CAP_NET_RAW)", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("packet socket: %w", err), t.close())
		}
	}()
	// The stamps of packet sockets are those that packets have. This makes the kernel stamp each as it
	// enters a namespace; without it, it would stamp only copies for this socket, in the softirq.
	err = errors.Join(
		unix.SetsockoptInt(t.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.SetsockoptInt(t.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2),
		unix.SetsockoptTpacketReq(t.fd, unix.SOL_PACKET, unix.PACKET_RX_RING,
			&unix.TpacketReq{Block_size: blockSize, Block_nr: frames * frameSize / blockSize, Frame_size: frameSize, Frame_nr: frames}))
	if err != nil {
		return nil, fmt.Errorf("set up the ring: %w", err)
	}
	if t.ring, err = unix.Mmap(t.fd, 0, frames*frameSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("map the ring: %w", err)
	}
	if err := unix.Bind(t.fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL)}); err != nil {
		return nil, fmt.Errorf("bind: %w", err)
	}
	return t, nil
}

// networkOrder is htons(3).
func networkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

func (t *tap) close() (err error) {
	if t.ring != nil {
		err = unix.Munmap(t.ring)
	}
	return errors.Join(err, unix.Close(t.fd))
}

// parseFrame reads a frame of the ring: struct tpacket2_hdr, struct sockaddr_ll and the packet. It reports
// false for a free one.
func parseFrame(b []byte, names map[int]string) (Event, bool) {
	u16 := func(at int) int { return int(binary.NativeEndian.Uint16(b[at:])) }
	u32 := func(at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }
	const ifindex, kind = frameBegin + 4, frameBegin + 10
	if len(b) < kind+1 || u32(0)&unix.TP_STATUS_USER == 0 {
		return Event{}, false
	}
	size, kept, mac := int(u32(4)), int(u32(8)), u16(12)
	if mac > len(b) {
		return Event{}, false
	}
	e := Event{At: int64(u32(16))*1e9 + int64(u32(20)), Kind: Enter, Dev: names[int(u32(ifindex))], Len: size,
		Head: bytes.Clone(b[mac:min(mac+min(kept, HeadSize), len(b))])}
	if b[kind] == unix.PACKET_OUTGOING {
		e.Kind = Xmit // before the driver gets it (dev_queue_xmit_nit, net/core/dev.c)
	}
	return e, true
}

// TapReady is the line that Tap prints once it records.
const TapReady = `{"tap":"ready"}`

// Tap records the packets of this process's network namespace until in ends, and then prints them as lines of
// JSON, the last a Tapped without events. On a shared machine it keeps only packets of the engine, because others
// are nobody's business and would fill the ring, and measures there what an event costs.
func Tap(in io.Reader, out io.Writer, shared bool) error {
	var last Tapped
	t, err := openTap()
	if err != nil {
		return err
	}
	defer t.close()
	if shared {
		if last.Cost, _, err = Cost(ByTaps); err != nil {
			return err
		}
	}
	devices, err := net.Interfaces()
	if err != nil {
		return err
	}
	names := map[int]string{}
	for _, d := range devices {
		names[d.Index] = d.Name
	}
	if _, err := fmt.Fprintln(out, TapReady); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in) // its end is what matters
		close(ended)
	}()
	events, lost, err := t.record(names, ended, shared)
	if err != nil {
		return err
	}
	last.Lost = lost
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	if err := enc.Encode(struct {
		End *Tapped `json:"end"`
	}{&last}); err != nil {
		return err
	}
	return w.Flush()
}

// drainEvery is how often record empties the ring: of a full 10 Gbit/s link, it holds 20 ms.
const drainEvery = 2 * time.Millisecond

// record returns the packets that enter the ring until ended is closed, and how many did not fit. On a shared machine, it
// keeps those that carry the engine's header, as many as the ring would hold, and empties the ring all the while.
// Elsewhere nobody reads the ring before the end.
func (t *tap) record(names map[int]string, ended <-chan struct{}, shared bool) (all []Event, lost int, err error) {
	if !shared {
		<-ended
	}
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	for at, over := 0, false; !over; {
		select {
		case <-tick.C:
		case <-ended:
			over = true
		}
		for range frames { // no more than it holds: a flood must not keep it here once ended is closed
			frame := t.ring[at*frameSize:][:frameSize]
			status := (*uint32)(unsafe.Pointer(&frame[0]))
			if atomic.LoadUint32(status)&unix.TP_STATUS_USER == 0 {
				break
			}
			if e, ok := parseFrame(frame, names); ok && (!shared || markOf(e.Head).found) {
				if len(all) < frames {
					all = append(all, e)
				} else {
					lost++
				}
			}
			atomic.StoreUint32(status, unix.TP_STATUS_KERNEL)
			at = (at + 1) % frames
		}
	}
	stats, err := unix.GetsockoptTpacketStats(t.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return nil, 0, fmt.Errorf("packet socket: statistics: %w", err)
	}
	return all, lost + int(stats.Drops), nil
}

// isName reports whether a name can be a device's (dev_valid_name, net/core/dev.c) and does nothing to a terminal. A machine
// of others can say anything.
func isName(s string) bool {
	return len(s) < unix.IFNAMSIZ && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Tapped is what a tap recorded.
type Tapped struct {
	Events []Event `json:"-"`
	Lost   int     `json:"lost"`           // packets that did not fit
	Cost   float64 `json:"cost,omitempty"` // of an event, s; 0: not measured there
}

// ParseTap reads the output of Tap on a node.
func ParseTap(node string, b []byte) (t Tapped, err error) {
	rest, ok := bytes.CutPrefix(b, []byte(TapReady+"\n"))
	if !ok {
		return t, fmt.Errorf("output of the tap in %s: want %s first, got %.80q", node, TapReady, b)
	}
	for line := range bytes.Lines(rest) {
		var v struct {
			Event
			End *Tapped
		}
		if err := json.Unmarshal(line, &v); err != nil {
			return Tapped{}, fmt.Errorf("output of the tap in %s: line %.80q: %w", node, line, err)
		}
		if v.End != nil && v.End.Cost >= 0 && v.End.Lost >= 0 {
			v.End.Events = t.Events
			return *v.End, nil
		}
		if v.End != nil || v.Kind != Xmit && v.Kind != Enter || !isName(v.Dev) {
			return Tapped{}, fmt.Errorf("output of the tap in %s: no event of a tap: %.80q", node, line)
		}
		v.Node = node
		t.Events = append(t.Events, v.Event)
	}
	return Tapped{}, fmt.Errorf("output of the tap in %s ends early", node)
}
