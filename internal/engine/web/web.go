// Package web speaks the protocols of applications, by the libraries that Go programs use: HTTP/1.1 and the server of HTTP/2
// (net/http), HTTP/2's client (x/net/http2), unary gRPC on it, TLS 1.3 (crypto/tls), QUIC (quic-go) and DNS (x/net/dns/dnsmessage, which Go's own
// resolver uses). It speaks the few lines of NATS that a request takes itself.
//
// It gets connections, answers on them or asks over them, and checks what comes back. It opens no socket and
// measures nothing: package engine does.
package web

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
)

// name is the server's name in its certificate, and the host of every request: an address can change on the path.
const name = "weir.test"

// Identify makes a key and a certificate for a server, valid from one time to another.
func Identify(from, to time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate: %w", err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: from, NotAfter: to, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// Trust returns a client's settings for TLS 1.3 with a server that has a certificate (DER). With resume, connections after
// the first one resume its session. protocols are offered by ALPN.
func Trust(certificate []byte, resume bool, protocols ...string) (*tls.Config, error) {
	c, err := x509.ParseCertificate(certificate)
	if err != nil {
		return nil, fmt.Errorf("the server's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(c)
	config := &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS13, NextProtos: protocols}
	if resume {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	}
	return config, nil
}

// asked returns how many bytes a request asks for: its path.
func asked(r *http.Request) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if err != nil || n < 0 || n > event.MaxBody {
		return 0, fmt.Errorf("path %q: want a number of bytes, 0 to %d", r.URL.Path, event.MaxBody)
	}
	return n, nil
}

// Serve answers requests of HTTP/1.1 over a connection until it ends, and closes it after a request that says so.
// answered is called for each, with the bytes of the body.
func Serve(c net.Conn, answered func(bytes int)) error {
	in := bufio.NewReader(c)
	response, size := []byte(nil), -1
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return err
		}
		n, err := asked(r)
		if err != nil {
			return errors.Join(err, answer(c, http.StatusNotFound, err.Error()))
		}
		if n != size {
			head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n", n)
			response, size = append([]byte(head), make([]byte, n)...), n
		}
		if _, err := c.Write(response); err != nil {
			return err
		}
		answered(n)
		if r.Close {
			return nil
		}
	}
}

func answer(c net.Conn, status int, why string) error {
	return (&http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(strings.NewReader(why)), ContentLength: int64(len(why)), Close: true}).Write(c)
}

// NewServer returns a server of HTTP/2 over TLS, which answers like Serve, and unary calls of gRPC.
func NewServer(identity tls.Certificate, answered func(bytes int)) *http.Server {
	body := make([]byte, event.MaxBody)
	handle := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), grpcType) {
			serveGRPC(w, r, body, answered)
			return
		}
		n, err := asked(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		h := w.Header()
		h["Content-Length"], h["Content-Type"] = []string{strconv.Itoa(n)}, []string{"application/octet-stream"}
		_, _ = w.Write(body[:n]) // the client reports it
		answered(n)
	}
	return &http.Server{Handler: http.HandlerFunc(handle), ErrorLog: log.New(io.Discard, "", 0), // clients report
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{identity}, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2", "http/1.1"}}}
}

// An HTTP asks for responses of one size over one connection, with HTTP/1.1.
type HTTP struct {
	conn net.Conn
	in   *bufio.Reader
	asks map[int][]byte // by size
	of   *http.Request
	last bool // each request is the last of its connection
}

// NewHTTP returns what asks over conn.
func NewHTTP(conn net.Conn, last bool) *HTTP {
	return &HTTP{conn: conn, in: bufio.NewReader(conn), asks: map[int][]byte{}, of: &http.Request{Method: http.MethodGet}, last: last}
}

// request returns the request for size bytes.
func (h *HTTP) request(size int) []byte {
	if h.asks[size] == nil {
		head := "GET /" + strconv.Itoa(size) + " HTTP/1.1\r\nHost: " + name + "\r\n"
		if h.last {
			head += "Connection: close\r\n"
		}
		h.asks[size] = []byte(head + "\r\n")
	}
	return h.asks[size]
}

// Exchange sends a request and reads the response of size bytes. over reports that the connection takes no further request.
func (h *HTTP) Exchange(size int) (over bool, err error) {
	if _, err := h.conn.Write(h.request(size)); err != nil {
		return true, fmt.Errorf("request: %w", err)
	}
	r, err := http.ReadResponse(h.in, h.of)
	if err != nil {
		return true, fmt.Errorf("response: %w", err)
	}
	if err := Check(r, size); err != nil {
		return true, err
	}
	return r.Close || h.last, nil
}

// AwaitEnd waits until the server has ended the connection.
func (h *HTTP) AwaitEnd() error {
	_, err := h.in.ReadByte()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		err = errors.New("bytes after the response")
	}
	return fmt.Errorf("end: %w", err)
}

// Check reads a response to its end. It returns an error unless that is a success of size bytes.
func Check(r *http.Response, size int) error {
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(r.Body, 200)) // whoever answered can say why
		return fmt.Errorf("response: %s, want 200 OK: %q", r.Status, said)
	}
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return fmt.Errorf("response: after %d of %d bytes: %w", n, size, err)
	}
	if n != int64(size) {
		return fmt.Errorf("response: a body of %d bytes, want %d", n, size)
	}
	return nil
}

// An Ask asks over HTTP/2 for a response of one size, again and again.
type Ask interface {
	// Request returns the request to send, after Check has read the response to the one before.
	Request() *http.Request
	// Check reads a response to its end. It returns an error unless that is a success of the right size.
	Check(r *http.Response) error
}

// A get is a request of HTTP/2.
type get struct {
	request *http.Request
	size    int
}

// NewGet returns the request for size bytes.
func NewGet(size int) (Ask, error) {
	r, err := http.NewRequest(http.MethodGet, "https://"+name+"/"+strconv.Itoa(size), nil)
	return &get{r, size}, err
}

func (g *get) Request() *http.Request       { return g.request }
func (g *get) Check(r *http.Response) error { return Check(r, g.size) }
