package web

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/weir-bench/weir/internal/engine/event"
)

// Only a success of the right size counts, and the words of whoever answered otherwise are kept.
func TestRefusedResponses(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, tc := range []struct{ response, want string }{
		{ok + "Content-Length: 5\r\n\r\n01234", ""},
		{ok + "Transfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n0\r\n\r\n", ""},
		{ok + "Content-Length: 4\r\n\r\n0123", "a body of 4 bytes, want 5"},
		{ok + "Content-Length: 6\r\n\r\n012345", "a body of 6 bytes, want 5"},
		{ok + "Content-Length: 5\r\n\r\n01", "after 2 of 5 bytes: unexpected EOF"},
		{"HTTP/1.1 204 No Content\r\n\r\n", "204 No Content, want 200 OK"},
		{"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 16\r\n\r\nno backend is up", `503 Service Unavailable, want 200 OK: "no backend is up"`},
		{"HTTP/1.1 200 OK\r\nContent-Le", "malformed"},
		{"SSH-2.0-OpenSSH\r\n", "malformed HTTP"},
		{"", "EOF"},
	} {
		near, far := net.Pipe()
		go func() {
			_, _ = http.ReadRequest(bufio.NewReader(far))
			_, _ = far.Write([]byte(tc.response))
			far.Close()
		}()
		_, err := NewHTTP(near, false).Exchange(5)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.response, err, tc.want)
		}
		near.Close()
	}
}

// A server answers what it can, and says what it cannot.
func TestServe(t *testing.T) {
	for _, tc := range []struct {
		ask  string
		want string
		n    int // answered
	}{
		{"GET /3 HTTP/1.1\r\nHost: x\r\n\r\nGET /0 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "Content-Length: 3\r\n\r\n\x00\x00\x00HTTP/1.1 200 OK\r\n", 2},
		{"GET /1048577 HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404 Not Found\r\n", 0},
		{"GET /no HTTP/1.1\r\nHost: x\r\n\r\n", `path "/no": want a number of bytes, 0 to 1048576`, 0},
		{"nonsense\r\n\r\n", "", 0},
	} {
		near, far := net.Pipe()
		answered := 0
		ended := make(chan error, 1)
		go func() {
			ended <- Serve(far, func(int) { answered++ })
			far.Close()
		}()
		go func() { _, _ = near.Write([]byte(tc.ask)) }()
		var said strings.Builder
		if _, err := bufio.NewReader(near).WriteTo(&said); err != nil {
			t.Fatal(err)
		}
		<-ended
		if !strings.Contains(said.String(), tc.want) || answered != tc.n {
			t.Errorf("%q: %q, %d answered; want %q, %d", tc.ask, said.String(), answered, tc.want, tc.n)
		}
	}
}

// Answers to other queries, failures and other addresses are told apart from the right one.
func TestAnswers(t *testing.T) {
	for _, six := range []bool{false, true} {
		q, err := Question(six)
		if err != nil {
			t.Fatal(err)
		}
		Number(q, 0x57e1)
		a := Answer(q)
		if err := CheckAnswer(a, q); err != nil {
			t.Errorf("IPv6 %t: %v", six, err)
		}
		changed := func(change func(m *dns.Msg)) []byte {
			var m dns.Msg
			if err := m.Unpack(a); err != nil {
				t.Fatal(err)
			}
			change(&m)
			b, err := m.Pack()
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		for _, tc := range []struct {
			answer []byte
			want   string
		}{
			{changed(func(m *dns.Msg) { m.Rcode = dns.RcodeServerFailure }), "ServerFailure"},
			{changed(func(m *dns.Msg) { m.Truncated = true }), "truncated: true"},
			{changed(func(m *dns.Msg) { m.Answer = nil }), "0 records, want 1"},
			{changed(func(m *dns.Msg) {
				m.Answer = []dns.RR{&dns.TXT{Hdr: dns.RR_Header{Name: zone.String(), Rrtype: dns.TypeTXT, Class: dns.ClassINET}, Txt: []string{"x"}}}
			}), "want 192.0.2.1 or"},
			{changed(func(m *dns.Msg) { m.Id++ }), ErrOther.Error()},
			{a[:20], "answer: "},
			{nil, "answer: "},
		} {
			if err := CheckAnswer(tc.answer, q); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%x: %v, want %q", tc.answer, err, tc.want)
			}
		}
	}
	for _, b := range [][]byte{nil, {1, 2, 3}, Answer(mustAsk(t, zone.String())), mustAsk(t, "example.org.")[:20]} {
		if a := Answer(b); a != nil {
			t.Errorf("%x is answered: %x", b, a)
		}
	}
	q := mustAsk(t, "example.org.")
	if err := CheckAnswer(Answer(q), q); err == nil || !strings.Contains(err.Error(), "NameError") || errors.Is(err, ErrOther) {
		t.Errorf("a name that the server does not have: %v", err)
	}
}

func mustAsk(t *testing.T, name string) []byte {
	t.Helper()
	b, err := new(dns.Msg).SetQuestion(name, dns.TypeA).Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func FuzzAnswer(f *testing.F) {
	q, err := Question(false)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(q)
	f.Fuzz(func(t *testing.T, b []byte) {
		if a := Answer(b); a != nil && Answer(a) != nil {
			t.Errorf("%x: an answer is answered: %x", b, a)
		}
		if err := CheckAnswer(b, q); err == nil && Answer(b) != nil {
			t.Errorf("%x is a query and an answer", b)
		}
	})
}

// Only a call's right answer counts, and the server's own words are kept.
func TestRefusedAnswers(t *testing.T) {
	const five = "\x00\x00\x00\x00\x07\x0a\x0501234"
	for _, tc := range []struct{ body, status, message, kind, want string }{
		{five, "0", "", grpcType, ""},
		{five, "0", "", grpcType + "+proto", ""},
		{five, "", "", grpcType, "ended without a grpc-status"},
		{five, "13", "out of memory", grpcType, `grpc-status 13: "out of memory"`},
		{"", "14", "no backend", grpcType, `grpc-status 14: "no backend"`},
		{five[:9], "0", "", grpcType, "9 bytes that begin with"},
		{five + "5", "0", "", grpcType, "13 bytes that begin with"},
		{"\x01" + five[1:], "0", "", grpcType, "begin with 0100"},
		{five[:3], "0", "", grpcType, "after 3 bytes of 12: unexpected EOF"},
		{"<html>", "", "", "text/html", `of type "text/html", want 200 OK of application/grpc: "<html>"`},
	} {
		c, err := NewCall(5)
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {tc.kind}},
			Body: io.NopCloser(strings.NewReader(tc.body)), Trailer: http.Header{}}
		r.Trailer.Set("Grpc-Status", tc.status)
		r.Trailer.Set("Grpc-Message", tc.message)
		err = c.Check(r)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q, status %q: %v, want %q", tc.body, tc.status, err, tc.want)
		}
	}
}

// A server refuses what is no call of its method.
func TestCalled(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, event.MaxBody} {
		if got, err := called(bytes.NewReader(grpcCall(n))); got != n || err != nil {
			t.Errorf("a call for %d bytes is read as %d: %v", n, got, err)
		}
	}
	for _, b := range []string{"", "\x00", "\x01\x00\x00\x00\x02\x08\x01", "\x00\x00\x00\x00\x01\x08", "\x00\x00\x00\x00\x02\x10\x01", "\x00\x00\x00\x00\x03\x08\x81\x00", string(grpcCall(event.MaxBody + 1))} {
		if n, err := called(strings.NewReader(b)); err == nil {
			t.Errorf("%x is read as a call for %d bytes", b, n)
		}
	}
}
