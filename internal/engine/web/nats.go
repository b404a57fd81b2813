package web

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
)

// A NATS asks and answers through a NATS server, in the core of its text protocol
// (https://docs.nats.io/reference/reference-protocols/nats-protocol): one connection publishes a request to a subject that the
// other one has subscribed to, and the answer goes back the same way. Every byte of both but those of a number is known before.
type NATS struct {
	asker, responder natsConn
	request, answer  natsMessage
	n                uint64 // of the last request, with which its message and that of its answer begin
}

const (
	natsLine    = 64 << 10 // most bytes of a server's line: its greeting lists a cluster's addresses
	natsConnect = `CONNECT {"verbose":false,"pedantic":false,"lang":"go","version":"0","name":"weir","protocol":1}` + "\r\n"
)

// NewNATS greets a server over two connections. Messages have size bytes, at least the eight of their number.
func NewNATS(asker, responder net.Conn, size int) (*NATS, error) {
	subject, inbox := "weir."+rand.Text(), "_INBOX."+rand.Text()
	n := &NATS{asker: newNATSConn(asker), responder: newNATSConn(responder), request: newNATSMessage(subject, inbox, size), answer: newNATSMessage(inbox, "", size)}
	if err := n.responder.subscribe(subject); err != nil {
		return nil, fmt.Errorf("responder: %w", err)
	}
	return n, n.asker.subscribe(inbox)
}

// Exchange sends a request, answers it, and reads the answer.
func (n *NATS) Exchange() error {
	n.n++
	for _, way := range []struct {
		what     string
		from, to natsConn
		natsMessage
	}{{"request", n.asker, n.responder, n.request}, {"answer", n.responder, n.asker, n.answer}} {
		binary.BigEndian.PutUint64(way.body, n.n)
		_, err := way.from.Write(way.sent)
		if err == nil {
			err = way.to.receive(way.natsMessage)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", way.what, err)
		}
	}
	return nil
}

// A natsMessage is a message as a client sends it, and the line above it when it arrives.
type natsMessage struct {
	sent, body []byte // body is the end of sent, with the end of its line
	line       []byte
	got        []byte // as long as body
}

// newNATSMessage returns a message to a subject. reply is the subject for its answer; "": none is wanted.
func newNATSMessage(subject, reply string, size int) natsMessage {
	if reply != "" {
		reply += " "
	}
	head := "PUB " + subject + " " + reply + strconv.Itoa(size) + "\r\n"
	sent := append(append([]byte(head), make([]byte, size)...), "\r\n"...)
	return natsMessage{sent, sent[len(head):], []byte("MSG " + subject + " 1 " + reply + strconv.Itoa(size)), make([]byte, size+2)}
}

type natsConn struct {
	net.Conn
	in *bufio.Reader
}

func newNATSConn(c net.Conn) natsConn { return natsConn{c, bufio.NewReaderSize(c, natsLine)} }

// subscribe greets the server, asks for the messages to a subject, and returns when the server has heard that.
func (c natsConn) subscribe(subject string) error {
	line, err := c.line()
	if err == nil && !bytes.HasPrefix(line, []byte("INFO {")) {
		err = fmt.Errorf("%.100q is not the greeting of a NATS server", line)
	}
	if err == nil {
		_, err = c.Write([]byte(natsConnect + "SUB " + subject + " 1\r\nPING\r\n"))
	}
	if err == nil {
		err = c.await([]byte("PONG"))
	}
	if err != nil {
		return fmt.Errorf("greeting: %w", err)
	}
	return nil
}

// receive reads a message, which has to be m.
func (c natsConn) receive(m natsMessage) error {
	if err := c.await(m.line); err != nil {
		return err
	}
	if _, err := io.ReadFull(c.in, m.got); err != nil {
		return fmt.Errorf("a message of %d bytes: %w", len(m.got)-2, err)
	}
	if !bytes.Equal(m.got, m.body) {
		return fmt.Errorf("%.60q arrived, where %.60q was sent", m.got, m.body)
	}
	return nil
}

// await reads lines until one is want, and answers the server's pings meanwhile.
func (c natsConn) await(want []byte) error {
	for {
		line, err := c.line()
		switch {
		case err != nil:
		case bytes.Equal(line, want):
			return nil
		case string(line) == "PING":
			_, err = c.Write([]byte("PONG\r\n"))
		case string(line) == "+OK", bytes.HasPrefix(line, []byte("INFO {")): // which a server says by itself
		case bytes.HasPrefix(line, []byte("-ERR ")):
			err = fmt.Errorf("the server says %.200q", line)
		default:
			err = fmt.Errorf("%.100q, want %.100q", line, want)
		}
		if err != nil {
			return err
		}
	}
}

// line returns the next line, valid until the next read.
func (c natsConn) line() ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("after %d bytes of a line: %w", len(line), err)
	}
	return bytes.TrimSuffix(line, []byte("\r\n")), nil
}
