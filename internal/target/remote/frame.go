package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/caught"
)

// A frame is a header and up to maxPayload bytes; one without a payload is a heartbeat. The header's
// fields are big-endian numbers of 4 bytes:
//
//	length of the payload | number of the frame, from 0 | CRC-32C of the payload | CRC-32C of these 12 bytes
//
// The header has its own checksum because a damaged length would make the reader wait for bytes that
// never arrive. The number detects frames that are missing, repeated or reordered.
const (
	headerSize = 16
	maxPayload = 32 << 10 // a slow pipe must pass one frame well within times.silence
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged means that the stream lost or changed bytes.
var ErrDamaged = errors.New("the pipe to the machine lost or changed bytes")

// appendFrame appends frame number n. The payload has at most maxPayload bytes.
func appendFrame(b []byte, n uint32, payload []byte) []byte {
	start := len(b)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.BigEndian.AppendUint32(b, n)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(payload, castagnoli))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
	return append(b, payload...)
}

// readFrame reads frame number n. Only the end of the stream between two frames is io.EOF.
func readFrame(r io.Reader, n uint32) (payload []byte, err error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, cut(err, n)
	}
	length, number := binary.BigEndian.Uint32(header[:]), binary.BigEndian.Uint32(header[4:])
	switch {
	case crc32.Checksum(header[:12], castagnoli) != binary.BigEndian.Uint32(header[12:]):
		return nil, fmt.Errorf("%w: the header of frame %d has a wrong checksum", ErrDamaged, n)
	case number != n:
		return nil, fmt.Errorf("%w: frame %d arrived where frame %d is due", ErrDamaged, number, n)
	case length > maxPayload:
		return nil, fmt.Errorf("%w: frame %d has %d bytes, more than %d", ErrDamaged, n, length, maxPayload)
	}
	payload = make([]byte, length)
	if _, err := io.ReadFull(r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, cut(err, n)
	}
	if crc32.Checksum(payload, castagnoli) != binary.BigEndian.Uint32(header[8:]) {
		return nil, fmt.Errorf("%w: frame %d has a wrong checksum", ErrDamaged, n)
	}
	return payload, nil
}

// cut explains an end within a frame.
func cut(err error, n uint32) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ended within frame %d", ErrDamaged, n)
	}
	return err
}

// times are how long an end of a connection waits. Tests have shorter ones.
type times struct {
	beat    time.Duration // between two heartbeats of this end
	silence time.Duration // without a frame, after which the other end counts as gone
	greet   time.Duration // for the greeting, or an answer before the first frame
	push    time.Duration // for the program to arrive at the far end
}

// Load balancers in front of Kubernetes end connections that are idle for 20 s
// (https://github.com/kubernetes/kubernetes/issues/94301). A pod's agent waits for its greeting while
// weir attaches to other pods, a few at a time.
var (
	nearTimes = times{beat: 5 * time.Second, silence: 15 * time.Second, greet: time.Minute, push: 10 * time.Minute}
	farTimes  = times{beat: 5 * time.Second, silence: 30 * time.Second, greet: 3 * time.Minute}
)

// frames is one end of a connection: a stream whose bytes arrive unchanged and in order, or not at
// all. It fails when the other end is silent.
//
// Reading and writing the pipe are goroutines, because neither can be interrupted everywhere: a read
// of standard input, and a write that the far end never accepts, outlast what they serve.
type frames struct {
	times times
	got   chan []byte  // payloads
	put   chan []byte  // payloads to send
	rest  []byte       // of the payload being read
	end   func() error // closes the pipe

	once sync.Once
	dead chan struct{} // closed after err is set
	sent chan struct{} // closed when nothing is written anymore
	err  error
}

// newFrames returns an end whose frames follow on in and out. end closes both, as far as that is possible.
func newFrames(in io.Reader, out io.Writer, end func() error, t times) *frames {
	f := &frames{times: t, got: make(chan []byte), put: make(chan []byte), end: end, dead: make(chan struct{}), sent: make(chan struct{})}
	go f.work(func() { f.receive(in) })
	go f.work(func() {
		defer close(f.sent)
		f.send(out)
	})
	return f
}

// work calls one direction. Its panic ends the connection.
func (f *frames) work(direction func()) {
	if err := caught.Error(func() error { direction(); return nil }); err != nil {
		f.die(err)
	}
}

// die ends the connection; the first reason stays.
func (f *frames) die(why error) {
	f.once.Do(func() {
		f.err = why
		close(f.dead)
	})
}

func (f *frames) receive(in io.Reader) {
	silent := time.AfterFunc(f.times.silence, func() {
		f.die(fmt.Errorf("the other end has been silent for %v", f.times.silence))
	})
	defer silent.Stop()
	for n := uint32(0); ; n++ {
		payload, err := readFrame(in, n)
		if err != nil {
			f.die(err)
			return
		}
		silent.Stop() // the time until the payload is taken is not the other end's
		if len(payload) > 0 {
			select {
			case f.got <- payload:
			case <-f.dead:
				return
			}
		}
		silent.Reset(f.times.silence)
	}
}

// brokenTime is how long an end that cannot write waits for the reader to learn why.
const brokenTime = time.Second

func (f *frames) send(out io.Writer) {
	beat := time.NewTicker(f.times.beat)
	defer beat.Stop()
	var b []byte
	for n := uint32(0); ; n++ {
		var payload []byte
		select {
		case payload = <-f.put:
		case <-beat.C:
		case <-f.dead:
			return
		}
		b = appendFrame(b[:0], n, payload)
		if _, err := out.Write(b); err != nil {
			select {
			case <-time.After(brokenTime):
				f.die(fmt.Errorf("write to the other end: %w", err))
			case <-f.dead:
			}
			return
		}
	}
}

// Read returns bytes that the other end wrote.
func (f *frames) Read(b []byte) (int, error) {
	if len(f.rest) == 0 {
		select {
		case f.rest = <-f.got:
		case <-f.dead:
			return 0, f.err
		}
	}
	n := copy(b, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Write passes b on. Its bytes can still be on their way when it returns.
func (f *frames) Write(b []byte) (int, error) {
	written := 0
	for len(b) > 0 {
		payload := append([]byte(nil), b[:min(len(b), maxPayload)]...)
		select {
		case f.put <- payload:
		case <-f.dead:
			return written, f.err
		}
		written += len(payload)
		b = b[len(payload):]
	}
	return written, nil
}

// Close ends the connection and closes the pipe. It first lets a write in progress end: a TLS connection that is closed
// during a write does not tell the far end that it ends (crypto/tls, Conn.Close), and the far end dials again.
func (f *frames) Close() error {
	f.die(io.EOF)
	select {
	case <-f.sent:
	case <-time.After(brokenTime): // the far end takes nothing
	}
	return f.end()
}
