package web

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// A natsFake passes messages on as a NATS server does, each through spoil.
type natsFake struct {
	info  string
	spoil func(message string) string
	mu    sync.Mutex
	of    map[string]net.Conn // by subject
}

func (f *natsFake) serve(c net.Conn) error {
	if _, err := io.WriteString(c, f.info); err != nil {
		return err
	}
	for in := bufio.NewReader(c); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		switch words := strings.Fields(line); words[0] {
		case "SUB":
			f.mu.Lock()
			f.of[words[1]] = c
			f.mu.Unlock()
		case "PING":
			_, err = io.WriteString(c, "PONG\r\n")
		case "PUB":
			size := 0
			if _, err = fmt.Sscan(words[len(words)-1], &size); err != nil {
				return err
			}
			body := make([]byte, size+2)
			if _, err = io.ReadFull(in, body); err != nil {
				return err
			}
			f.mu.Lock()
			to := f.of[words[1]]
			f.mu.Unlock()
			words[1] += " 1"
			_, err = io.WriteString(to, f.spoil("MSG "+strings.Join(words[1:], " ")+"\r\n"+string(body)))
		}
		if err != nil {
			return err
		}
	}
}

// Only the message that was sent counts, whatever else a server says, and the words of one that refuses are kept.
func TestNATS(t *testing.T) {
	const info = "INFO {\"max_payload\":1048576} \r\n"
	whole := func(m string) string { return m }
	replace := func(from, to string) func(string) string {
		return func(m string) string { return strings.Replace(m, from, to, 1) }
	}
	for name, tc := range map[string]struct {
		info  string
		spoil func(string) string
		want  string
	}{
		"as it is":        {info, whole, ""},
		"others' lines":   {info, func(m string) string { return "PING\r\n" + info + "+OK\r\n" + m }, ""},
		"no NATS":         {"SSH-2.0-OpenSSH\r\n", whole, `"SSH-2.0-OpenSSH" is not the greeting of a NATS server`},
		"refused":         {info + "-ERR 'Authorization Violation'\r\n", whole, "the server says \"-ERR 'Authorization Violation'\""},
		"an error":        {info, func(string) string { return "-ERR 'Slow Consumer'\r\n" }, "request: the server says \"-ERR 'Slow Consumer'\""},
		"another size":    {info, replace(" 9\r\n", " 10\r\nx"), ` 10", want "MSG weir.`},
		"another subject": {info, replace("MSG _INBOX.", "MSG _INBOX.X"), `answer: "MSG _INBOX.X`},
		"another body":    {info, replace("\x00\r\n", "x\r\n"), "arrived, where"},
		"no end of line":  {info, replace("\x00\r\n", "\x00xx"), "arrived, where"},
		"no line":         {info, func(string) string { return strings.Repeat("x", natsLine+1) }, "buffer full"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &natsFake{info: tc.info, spoil: tc.spoil, of: map[string]net.Conn{}}
			var ends [2]net.Conn
			for i := range ends {
				near, far := net.Pipe()
				ends[i] = near
				defer near.Close()
				go func() { _ = f.serve(far) }() // until near is closed
			}
			n, err := NewNATS(ends[0], ends[1], 9)
			for i := 0; i < 3 && err == nil; i++ {
				err = n.Exchange()
			}
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// A server that dies ends the exchange.
func TestNATSCut(t *testing.T) {
	f := &natsFake{info: "INFO {}\r\n", of: map[string]net.Conn{}}
	asker, a := net.Pipe()
	responder, r := net.Pipe()
	f.spoil = func(string) string { a.Close(); r.Close(); return "" }
	go func() { _ = f.serve(a) }()
	go func() { _ = f.serve(r) }()
	n, err := NewNATS(asker, responder, 8)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Exchange(); !errors.Is(err, io.EOF) || !strings.HasPrefix(err.Error(), "request: after 0 bytes of a line") {
		t.Errorf("%v, want an end after the request", err)
	}
}
