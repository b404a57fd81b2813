package web

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/weir-bench/weir/internal/engine/event"
)

// An H2 is a client's connection of HTTP/2 over TLS, whose streams share it. Of the streams that wait for a response one reads for
// all: one alone waits in the connection itself, and wakes nobody. The client of net/http passes each response through several goroutines,
// which took more CPU time than all the rest.
type H2 struct {
	conn    net.Conn
	timeout time.Duration
	framer  *http2.Framer
	leader  chan struct{} // has a token while no stream reads
	closing sync.Once

	mu      sync.Mutex   // guards what follows
	out     bytes.Buffer // frames to send
	block   bytes.Buffer // the fields of a request
	encoder *hpack.Encoder
	streams map[uint32]*Stream // that wait
	next    uint32
	room    int64  // bytes of requests' bodies that the server takes (RFC 9113, section 6.9)
	taken   uint32 // bytes of responses' bodies that the server was not told of
	err     error  // which ended the connection
}

const (
	largestWindow = 1<<31 - 1 // bytes: answers never wait for room
	firstWindow   = 1<<16 - 1 // of a connection (RFC 9113, section 6.9.2)
	mostFields    = 1 << 14   // bytes of a response's fields
)

// NewH2 begins HTTP/2 over conn. If conn has deadlines, the handshake, each request and each frame take at most the timeout.
func NewH2(conn net.Conn, trust *tls.Config, timeout time.Duration) (*H2, error) {
	c := tls.Client(conn, trust)
	_ = c.SetDeadline(time.Now().Add(timeout)) // as in bound
	if err := c.Handshake(); err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	if p := c.ConnectionState().NegotiatedProtocol; p != http2.NextProtoTLS {
		return nil, fmt.Errorf("TLS: the server chose %q, want %s", p, http2.NextProtoTLS)
	}
	return beginH2(c, timeout)
}

func beginH2(conn net.Conn, timeout time.Duration) (*H2, error) {
	h := &H2{conn: conn, timeout: timeout, leader: make(chan struct{}, 1), streams: map[uint32]*Stream{}, next: 1, room: firstWindow}
	h.encoder = hpack.NewEncoder(&h.block)
	h.framer = http2.NewFramer(&h.out, bufio.NewReader(conn))
	h.framer.ReadMetaHeaders, h.framer.MaxHeaderListSize = hpack.NewDecoder(4096, nil), mostFields
	h.framer.SetMaxReadFrameSize(1 << 14)
	h.framer.SetReuseFrames()
	h.leader <- struct{}{}
	h.out.WriteString(http2.ClientPreface)
	err := h.framer.WriteSettings(http2.Setting{ID: http2.SettingEnablePush}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: largestWindow},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: mostFields})
	return h, errors.Join(err, h.framer.WriteWindowUpdate(0, largestWindow-firstWindow), h.flush())
}

// bound gives the connection its next deadline. One that has none bounds its calls itself.
func (h *H2) bound() { _ = h.conn.SetDeadline(time.Now().Add(h.timeout)) }

func (h *H2) flush() error {
	h.bound()
	_, err := h.conn.Write(h.out.Bytes())
	h.out.Reset()
	return err
}

// Close closes the connection. It may be called again.
func (h *H2) Close() { h.closing.Do(func() { _ = h.conn.Close() }) }

// A Stream makes one request after another, each on a stream of its connection.
type Stream struct {
	*H2
	of       *http.Request
	fields   []hpack.HeaderField // of it
	response http.Response
	begins   []byte     // its body
	size     int        // of its body, bytes
	done     chan error // has the end of the response
}

// kept is how many bytes of a body are kept: those that tell what it is. Of the rest only the number counts.
const kept = 1 << 10

// rest stands for bytes that nobody looks at.
type rest struct{}

func (rest) Read(b []byte) (int, error) { return len(b), nil }

// Stream returns one more of the connection.
func (h *H2) Stream() *Stream {
	return &Stream{H2: h, done: make(chan error, 1), response: http.Response{Header: http.Header{}, Trailer: http.Header{}}}
}

// Do sends a request, whose body has its ContentLength. The response is valid until the next one.
func (s *Stream) Do(r *http.Request) (*http.Response, error) {
	if err := s.send(r); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if err := s.await(); err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	s.response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(s.begins), io.LimitReader(rest{}, int64(s.size-len(s.begins)))))
	return &s.response, nil
}

func (s *Stream) send(r *http.Request) error {
	var body []byte
	if r.Body != nil {
		body = make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, body); err != nil {
			return err
		}
	}
	if s.of != r {
		s.of, s.fields = r, fieldsOf(r)
	}
	s.begins, s.size, s.response.StatusCode = s.begins[:0], 0, 0
	clear(s.response.Header)
	clear(s.response.Trailer)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return s.err
	case int64(len(body)) > s.room:
		return fmt.Errorf("a body of %d bytes, and the server has room for %d", len(body), s.room)
	}
	s.block.Reset()
	for _, f := range s.fields {
		if err := s.encoder.WriteField(f); err != nil {
			return err
		}
	}
	id := s.next
	s.next, s.room, s.streams[id] = s.next+2, s.room-int64(len(body)), s
	err := s.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: s.block.Bytes(), EndHeaders: true, EndStream: body == nil})
	if err == nil && body != nil {
		err = s.framer.WriteData(id, true, body)
	}
	return errors.Join(err, s.flush())
}

// fieldsOf returns what begins a request (RFC 9113, section 8.3.1), and its header.
func fieldsOf(r *http.Request) []hpack.HeaderField {
	fields := []hpack.HeaderField{{Name: ":method", Value: r.Method}, {Name: ":scheme", Value: r.URL.Scheme}, {Name: ":authority", Value: r.URL.Host}, {Name: ":path", Value: r.URL.Path}}
	for name, values := range r.Header {
		for _, v := range values {
			fields = append(fields, hpack.HeaderField{Name: strings.ToLower(name), Value: v})
		}
	}
	return fields
}

// await waits for the end of the response, and reads for all streams unless another one does.
func (s *Stream) await() error {
	select {
	case err := <-s.done:
		return err
	case <-s.leader:
	}
	defer func() { s.leader <- struct{}{} }()
	for {
		select {
		case err := <-s.done:
			return err
		default:
		}
		s.bound()
		f, err := s.framer.ReadFrame()
		s.mu.Lock()
		if err == nil {
			err = s.take(f)
		}
		if err != nil {
			s.fail(err)
		}
		s.mu.Unlock()
	}
}

// fail ends the connection for all that wait.
func (h *H2) fail(err error) {
	h.err = err
	for id := range h.streams {
		h.end(id, err)
	}
}

// end ends the response on a stream.
func (h *H2) end(id uint32, err error) {
	if s := h.streams[id]; s != nil {
		delete(h.streams, id)
		s.done <- err
	}
}

// take takes a frame of the server. An error ends the connection.
func (h *H2) take(f http2.Frame) error {
	id := f.Header().StreamID
	s := h.streams[id]
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		if s == nil || f.Truncated {
			return fmt.Errorf("fields on stream %d, which asked for none, or more than %d bytes of them", id, mostFields)
		}
		s.begin(f.Fields)
		if f.StreamEnded() {
			h.end(id, nil)
		}
	case *http2.DataFrame:
		if s == nil || s.size > 2*event.MaxBody {
			return fmt.Errorf("a body on stream %d, which asked for none, or more than %d bytes of it", id, 2*event.MaxBody)
		}
		s.size += len(f.Data())
		s.begins = append(s.begins, f.Data()[:min(len(f.Data()), kept-len(s.begins))]...)
		if f.StreamEnded() {
			h.end(id, nil)
		}
		if h.taken += f.Length; h.taken > largestWindow/2 {
			room := h.taken
			h.taken = 0
			return errors.Join(h.framer.WriteWindowUpdate(0, room), h.flush())
		}
	case *http2.RSTStreamFrame: // also of one that has ended, if the server did not read its request
		h.end(id, fmt.Errorf("the server reset the stream: %v", f.ErrCode))
	case *http2.GoAwayFrame:
		return fmt.Errorf("the server ended the connection: %v", f.ErrCode)
	case *http2.PushPromiseFrame:
		return errors.New("the server pushes, which it must not")
	case *http2.WindowUpdateFrame:
		if id == 0 {
			h.room += int64(f.Increment)
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return errors.Join(h.framer.WritePing(true, f.Data), h.flush())
		}
	case *http2.SettingsFrame:
		if !f.IsAck() {
			if size, ok := f.Value(http2.SettingHeaderTableSize); ok {
				h.encoder.SetMaxDynamicTableSizeLimit(size)
			}
			return errors.Join(h.framer.WriteSettingsAck(), h.flush())
		}
	}
	return nil
}

// begin takes the fields of a response, and at its end its trailer.
func (s *Stream) begin(fields []hpack.HeaderField) {
	to := s.response.Header
	if s.response.StatusCode != 0 {
		to = s.response.Trailer
	}
	for _, f := range fields {
		switch code, err := strconv.Atoi(f.Value); {
		case f.Name != ":status":
			to.Add(f.Name, f.Value)
		case err == nil && code >= http.StatusOK: // a lower one reports progress, and the response follows
			s.response.StatusCode, s.response.Status = code, f.Value+" "+http.StatusText(code)
		}
	}
}
