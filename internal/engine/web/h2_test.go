package web

import (
	"bytes"
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"golang.org/x/sync/errgroup"

	"github.com/weir-bench/weir/internal/engine/event"
)

// Streams share a connection of HTTP/2, and each gets its own answers.
func TestStreams(t *testing.T) {
	identity, err := Identify(time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(identity, func(int) {})
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(l, "", "") }()
	t.Cleanup(func() { server.Close(); <-served })
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	trust, err := Trust(identity.Certificate[0], false, "h2")
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewH2(conn, trust, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var g errgroup.Group
	for i := range event.MaxWebInflight {
		s := h.Stream()
		g.Go(func() error {
			for _, size := range []int{i, 1000 * i, i, event.MaxBody / (i + 1)} {
				for _, ask := range []func(int) (Ask, error){NewGet, NewCall} {
					q, err := ask(size)
					if err != nil {
						return err
					}
					r, err := s.Do(q.Request())
					if err != nil {
						return err
					}
					if err := q.Check(r); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// A server that does not speak HTTP/2 is told.
func TestNoH2(t *testing.T) {
	identity, err := Identify(time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	trust, err := Trust(identity.Certificate[0], false, "h2")
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	defer far.Close()
	go func() { _ = tls.Server(far, &tls.Config{Certificates: []tls.Certificate{identity}}).Handshake() }()
	if _, err := NewH2(near, trust, time.Minute); err == nil || !strings.Contains(err.Error(), `the server chose "", want h2`) {
		t.Error(err)
	}
}

// frames returns what a server sends.
func frames(write func(f *http2.Framer, fields func(pairs ...string) []byte)) []byte {
	var out, block bytes.Buffer
	e := hpack.NewEncoder(&block)
	write(http2.NewFramer(&out, nil), func(pairs ...string) []byte {
		block.Reset()
		for i := 0; i < len(pairs); i += 2 {
			_ = e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
		}
		return bytes.Clone(block.Bytes())
	})
	return out.Bytes()
}

// A script is a connection to a server that sends what it will, whatever it is asked.
type script struct {
	net.Conn
	*bytes.Reader
}

func (s script) Read(b []byte) (int, error)    { return s.Reader.Read(b) }
func (s script) Write(b []byte) (int, error)   { return len(b), nil }
func (s script) SetDeadline(t time.Time) error { return nil }
func (s script) Close() error                  { return nil }

// answered asks such a server for five bytes.
func answered(t testing.TB, sent []byte) error {
	h, err := beginH2(script{Reader: bytes.NewReader(sent)}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	q, err := NewGet(5)
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.Stream().Do(q.Request())
	if err != nil {
		return err
	}
	return q.Check(r)
}

// Only a whole and right response counts, and what a server must not send ends the connection.
func TestH2Responses(t *testing.T) {
	head := func(f *http2.Framer, b []byte, end bool) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b, EndHeaders: true, EndStream: end})
	}
	five := func(f *http2.Framer) { _ = f.WriteData(1, true, []byte("01234")) }
	for _, tc := range []struct {
		name, want string
		write      func(f *http2.Framer, fields func(pairs ...string) []byte)
	}{
		{"a response", "", func(f *http2.Framer, fields func(...string) []byte) {
			_ = f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize})
			_ = f.WritePing(false, [8]byte{1})
			_ = f.WriteWindowUpdate(0, 10)
			head(f, fields(":status", "103", "link", "x"), false)
			head(f, fields(":status", "200"), false)
			_ = f.WriteData(1, false, []byte("01"))
			_ = f.WriteDataPadded(1, false, []byte("234"), make([]byte, 9))
			head(f, fields("grpc-status", "0"), true)
		}},
		{"too short", "a body of 2 bytes, want 5", func(f *http2.Framer, fields func(...string) []byte) {
			head(f, fields(":status", "200"), false)
			_ = f.WriteData(1, true, []byte("01"))
		}},
		{"refused", `404 Not Found, want 200 OK: "01234"`, func(f *http2.Framer, fields func(...string) []byte) {
			head(f, fields(":status", "404"), false)
			five(f)
		}},
		{"no status", "want 200 OK", func(f *http2.Framer, fields func(...string) []byte) { head(f, fields("x", "y"), true) }},
		{"cut", "EOF", func(f *http2.Framer, fields func(...string) []byte) {
			head(f, fields(":status", "200"), false)
			_ = f.WriteData(1, false, []byte("01234"))
		}},
		{"reset", "the server reset the stream: REFUSED_STREAM", func(f *http2.Framer, _ func(...string) []byte) { _ = f.WriteRSTStream(1, http2.ErrCodeRefusedStream) }},
		{"goes away", "the server ended the connection: NO_ERROR", func(f *http2.Framer, _ func(...string) []byte) { _ = f.WriteGoAway(1, http2.ErrCodeNo, nil) }},
		{"pushes", "the server pushes", func(f *http2.Framer, fields func(...string) []byte) {
			_ = f.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: fields(":path", "/"), EndHeaders: true})
		}},
		{"another stream's fields", "fields on stream 3", func(f *http2.Framer, fields func(...string) []byte) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: fields(":status", "200"), EndHeaders: true})
		}},
		{"another stream's body", "a body on stream 3", func(f *http2.Framer, _ func(...string) []byte) { _ = f.WriteData(3, true, []byte("01234")) }},
		{"too many fields", "more than 16384 bytes", func(f *http2.Framer, fields func(...string) []byte) {
			head(f, fields(append([]string{":status", "200"}, slices.Repeat([]string{"x", strings.Repeat("~", 100)}, 200)...)...), true)
		}},
		{"a body without end", "more than 2097152 bytes", func(f *http2.Framer, fields func(...string) []byte) {
			head(f, fields(":status", "200"), false)
			for range 2*event.MaxBody/(1<<14) + 2 {
				_ = f.WriteData(1, false, make([]byte, 1<<14))
			}
		}},
		{"another protocol", "frame too large", func(f *http2.Framer, _ func(...string) []byte) {
			_ = f.WriteRawFrame(0x53, 'S', 1, make([]byte, 1<<15))
		}},
	} {
		err := answered(t, frames(tc.write))
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func FuzzH2(f *testing.F) {
	f.Add(frames(func(w *http2.Framer, fields func(...string) []byte) {
		_ = w.WriteSettings()
		_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: fields(":status", "200"), EndHeaders: true})
		_ = w.WriteData(1, true, []byte("01234"))
	}))
	f.Fuzz(func(t *testing.T, b []byte) { _ = answered(t, b) }) // it ends, and does not panic
}
