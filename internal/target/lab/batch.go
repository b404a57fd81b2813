package lab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A request is a netlink message to the kernel (RFC 3549, section 2.2): header, fixed-size body and
// attributes, in the machine's byte order.
type request struct {
	at   *place // destination
	step int    // index in the batch
	b    []byte
	fine unix.Errno // error to treat as success; 0: none
}

var native = binary.NativeEndian

// request starts a message about a place; body is a structure of include/uapi/linux.
func (p *place) request(typ, flags uint16, body any) *request {
	r := newRequest(typ, flags, body)
	r.at = p
	return r
}

// spare recycles executed requests: a full mesh of 1,000 hosts takes a million.
var spare = sync.Pool{New: func() any { return &request{b: make([]byte, 0, 64)} }}

func newRequest(typ, flags uint16, body any) *request {
	r := spare.Get().(*request)
	*r = request{b: append(r.b[:0], make([]byte, unix.SizeofNlMsghdr)...)}
	native.PutUint16(r.b[4:], typ)
	native.PutUint16(r.b[6:], flags|unix.NLM_F_REQUEST)
	return r.body(body)
}

// body appends a fixed-size structure whose size is a multiple of 4.
func (r *request) body(s any) *request {
	b, err := binary.Append(r.b, native, s)
	if err != nil {
		panic(err) // a mistake in this package: the size is not fixed
	}
	r.b = b
	return r
}

func (r *request) put(attr uint16, value []byte) {
	r.b = native.AppendUint16(r.b, uint16(unix.SizeofRtAttr+len(value)))
	r.b = native.AppendUint16(r.b, attr)
	r.b = append(r.b, value...)
	for len(r.b)%unix.NLMSG_ALIGNTO != 0 {
		r.b = append(r.b, 0)
	}
}

// nest appends an attribute that contains what fill appends.
func (r *request) nest(attr uint16, fill func()) {
	start := len(r.b)
	r.put(attr, nil)
	fill()
	native.PutUint16(r.b[start:], uint16(len(r.b)-start))
}

func (r *request) u8(attr uint16, v uint8)        { r.put(attr, []byte{v}) }
func (r *request) u16(attr uint16, v uint16)      { r.put(attr, native.AppendUint16(nil, v)) }
func (r *request) be16(attr uint16, v uint16)     { r.put(attr, binary.BigEndian.AppendUint16(nil, v)) }
func (r *request) u32(attr uint16, v uint32)      { r.put(attr, native.AppendUint32(nil, v)) }
func (r *request) u64(attr uint16, v uint64)      { r.put(attr, native.AppendUint64(nil, v)) }
func (r *request) str(attr uint16, s string)      { r.put(attr, append([]byte(s), 0)) }
func (r *request) addr(attr uint16, a netip.Addr) { r.put(attr, a.AsSlice()) }

// some appends a number unless it is 0.
func (r *request) some(attr uint16, v int) {
	if v != 0 {
		r.u32(attr, uint32(v))
	}
}

// either appends an address under the attribute of its family.
func (r *request) either(attr4, attr6 uint16, a netip.Addr) {
	if a.Is6() {
		attr4 = attr6
	}
	r.addr(attr4, a)
}

func family(a netip.Addr) uint8 {
	if a.Is6() {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// A socket talks netlink to the kernel about the namespace that it was opened in, whatever the
// caller's namespace is. It serves one caller at a time.
type socket struct {
	fd  int
	seq uint32 // of the last request
}

// openSocket opens a socket in this thread's namespace.
func openSocket(protocol int) (*socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return nil, fmt.Errorf("netlink: open socket: %w", err)
	}
	s := &socket{fd: fd}
	// Errors have the kernel's text (Linux 4.12) and no copy of the request (4.2). An older kernel
	// refuses these options, and its errors are numbers.
	_ = unix.SetsockoptInt(s.fd, unix.SOL_NETLINK, unix.NETLINK_EXT_ACK, 1)
	_ = unix.SetsockoptInt(s.fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1)
	return s, nil
}

func (s *socket) close() error { return unix.Close(s.fd) }

// buffers hold requests, then answers: too large for a stack.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

const bufferSize = batchSize + 4<<10

// do sends requests of up to about batchSize bytes. It returns the reply to a query, or the index
// and the error of the first failed request.
//
// One write carries all requests. Before it returns, the kernel executes them in order, continues
// after a failure, and answers only failures unless asked (net/netlink/af_netlink.c,
// netlink_rcv_skb). The last request asks for an answer, so silence never counts as success.
func (s *socket) do(reqs ...*request) (reply []byte, failed int, err error) {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	first, out := s.seq+1, buf[:0]
	for _, r := range reqs {
		s.seq++
		native.PutUint32(r.b, uint32(len(r.b)))
		native.PutUint32(r.b[8:], s.seq)
		if s.seq == first+uint32(len(reqs))-1 {
			native.PutUint16(r.b[6:], native.Uint16(r.b[6:])|unix.NLM_F_ACK)
		}
		out = append(out, r.b...)
	}
	if _, err := unix.Write(s.fd, out); err != nil {
		return nil, 0, fmt.Errorf("netlink: write: %w", err)
	}
	for {
		n, readErr := unix.Read(s.fd, buf[:])
		switch {
		case readErr == unix.ENOBUFS: // no room for more answers; the first ones are intact
			continue
		case readErr != nil && err != nil:
			return nil, failed, err
		case readErr != nil:
			return nil, 0, fmt.Errorf("netlink: read: %w", readErr)
		}
		answers, readErr := syscall.ParseNetlinkMessage(buf[:n])
		if readErr != nil {
			return nil, 0, fmt.Errorf("netlink: read: %w", readErr)
		}
		for _, m := range answers {
			switch number := int(m.Header.Seq - first); {
			case number >= len(reqs): // a failure in an earlier call
			case m.Header.Type != unix.NLMSG_ERROR:
				reply = bytes.Clone(m.Data)
			default:
				if e := refusal(m.Data, m.Header.Flags); err == nil && e != nil && !errors.Is(e, reqs[number].fine) {
					failed, err = number, e
				}
				if number == len(reqs)-1 {
					return reply, failed, err
				}
			}
		}
	}
}

// refusal parses struct nlmsgerr: error number, request header, and optional attributes with the
// reason (include/uapi/linux/netlink.h). It returns nil for success.
func refusal(b []byte, flags uint16) error {
	const head = 4 + unix.SizeofNlMsghdr
	if len(b) < 4 {
		return errors.New("netlink: an answer of less than 4 bytes")
	}
	errno := unix.Errno(-int32(native.Uint32(b)))
	if errno == 0 {
		return nil
	}
	if flags&unix.NLM_F_ACK_TLVS != 0 && len(b) > head {
		if why := attribute(b[head:], unix.NLMSGERR_ATTR_MSG); len(why) > 1 {
			return fmt.Errorf("%w: %s", errno, why[:len(why)-1])
		}
	}
	return errno
}

// attribute returns the first attribute of a type; nil without one.
func attribute(b []byte, attr uint16) []byte {
	for len(b) >= unix.SizeofRtAttr {
		size := int(native.Uint16(b))
		if size < unix.SizeofRtAttr || size > len(b) {
			return nil
		}
		if native.Uint16(b[2:]) == attr {
			return b[unix.SizeofRtAttr:size]
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return nil
}

// batchSize is the size, bytes, at which a write is full. The kernel refuses writes above the send
// buffer, by default 208 KiB (net/core/sock.c, sysctl_wmem_default).
const batchSize = 64 << 10

// execute runs requests in order, with one write per run of requests for one place. It returns the
// index and the error of the first failure.
func execute(reqs ...*request) (failed int, err error) {
	for start := 0; start < len(reqs); {
		end, size := start, 0
		for end < len(reqs) && reqs[end].at == reqs[start].at && size < batchSize {
			size += len(reqs[end].b)
			end++
		}
		if _, n, err := reqs[start].at.nl.do(reqs[start:end]...); err != nil {
			return start + n, err
		}
		start = end
	}
	return 0, nil
}
