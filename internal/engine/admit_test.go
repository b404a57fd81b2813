package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

const testToken = "a-token-of-the-tests"

// A host is a server under test.
type host struct {
	addr  string
	lines chan string // of its output, closed when it has ended
	err   error       // valid from then on
}

// admitting starts a server that admits only holders of testToken.
func admitting(t *testing.T, addr string, change func(*serveConfig)) *host {
	t.Helper()
	needFamily(t, addr)
	ctx, cancel := context.WithCancel(t.Context())
	c := serveConfig{at: netip.MustParseAddrPort(addr), token: testToken, patience: idleTimeout}
	if change != nil {
		change(&c)
	}
	h := &host{lines: make(chan string, 1000)} // nothing needs to read them
	r, w := io.Pipe()
	go func() {
		h.err = listenAndServe(ctx, c, events{w: w})
		w.Close()
	}()
	go func() {
		for lines := bufio.NewScanner(r); lines.Scan(); {
			h.lines <- lines.Text()
		}
		close(h.lines)
	}()
	var ready event.Ready
	if err := json.Unmarshal([]byte(<-h.lines), &ready); err != nil || ready.Event != event.KindReady || ready.Token != "" {
		t.Fatalf("%+v, %v, want ready, without the token that was given", ready, err)
	}
	h.addr = ready.Address
	t.Cleanup(func() {
		cancel()
		for range h.lines {
		}
		if h.err != nil && !errors.Is(h.err, context.Canceled) {
			t.Errorf("server: %v", h.err)
		}
	})
	return h
}

// person runs a command as typed.
func person(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := Main(t.Context(), args, nil, &out)
	return out.String(), err
}

func TestAdmission(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, loopback := range loopbacks {
		h := admitting(t, loopback, nil)
		for _, workload := range wire.Workloads {
			args := append(short(workload, h.addr), "--token", testToken)
			if out, err := person(t, args...); err != nil || strings.Count(out, "\n") != 3 {
				t.Errorf("%s %s: %v\n%s", loopback, workload, err, out)
			}
			for token, want := range map[string]string{"": "the server admits only clients that hold its token: set WEIR_TOKEN", "another-token-of-the-tests": "not this server's token"} {
				t.Setenv(tokenVariable, token)
				if out, err := person(t, short(workload, h.addr)...); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(out, event.MarkError) || strings.Count(out, "\n") != 1 {
					t.Errorf("%s %s with token %q: %v, want %q\n%s", loopback, workload, token, err, want, out)
				}
			}
		}
		out, err := person(t, append(short("tcp-stream", h.addr, "--streams", "5"), "--token", testToken)...)
		var r event.TCPStream
		if err == nil {
			err = event.Read([]byte(out), "tcp-stream", &r)
		}
		if err != nil || len(r.StreamBytes) != 5 {
			t.Errorf("five streams: %v\n%s", err, out)
		}
	}
}

// A wildcard server is reachable over both families, and answers from the address that a datagram
// was sent to.
func TestAnyAddress(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	h := admitting(t, "[::]:0", nil)
	_, port, _ := strings.Cut(h.addr, "]:")
	for _, to := range []string{"127.0.0.1:" + port, "127.0.0.2:" + port, "[::1]:" + port} {
		if strings.HasPrefix(to, "[") {
			needFamily(t, loopbacks[1])
		}
		for _, workload := range []string{"tcp-rr", "udp-rr", "tcp-crr"} {
			if out, err := person(t, append(short(workload, to, "--dscp", "10"), "--token", testToken)...); err != nil {
				t.Errorf("%s to %s: %v\n%s", workload, to, err, out)
			}
		}
	}
}

// shaken connects and sends a hello, and returns the connection and the challenge.
func shaken(t *testing.T, addr string, hello []byte) (fd int, challenge string) {
	t.Helper()
	conn, err := dialOnce(t.Context(), config{server: netip.MustParseAddrPort(addr), timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(conn.fd) })
	var a wire.Accepted
	deadline := sock.Now() + int64(5*time.Second)
	err = sock.WriteFull(conn.fd, append(hello, '\n'), deadline, new(sock.Stopper))
	if err == nil {
		err = sock.ReadJSON(conn.fd, &a, deadline, new(sock.Stopper))
	}
	if err != nil || a.Challenge == "" || a.Secret != "" || a.Error != "" {
		t.Fatalf("%+v, %v, want a challenge", a, err)
	}
	return conn.fd, a.Challenge
}

func answered(t *testing.T, fd int, proof string) wire.Accepted {
	t.Helper()
	var a wire.Accepted
	deadline := sock.Now() + int64(5*time.Second)
	err := sock.WriteJSON(fd, wire.Admission{Proof: proof}, deadline, new(sock.Stopper))
	if err == nil {
		err = sock.ReadJSON(fd, &a, deadline, new(sock.Stopper))
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func helloOf(t *testing.T, c config) []byte {
	t.Helper()
	b, err := json.Marshal(c.Params)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// An overheard proof admits no client, on another connection or to another run.
func TestReplayedProof(t *testing.T) {
	h := admitting(t, loopbacks[0], nil)
	c := testConfig(t, h.addr)
	hello := helloOf(t, c)
	fd, first := shaken(t, h.addr, hello)
	proof := prove(testToken, first, hello)
	c.Run = 2
	other := helloOf(t, c)
	for what, replay := range map[string]func() wire.Accepted{
		"another connection": func() wire.Accepted { fd, _ := shaken(t, h.addr, hello); return answered(t, fd, proof) },
		"another run": func() wire.Accepted {
			fd, challenge := shaken(t, h.addr, other)
			return answered(t, fd, prove(testToken, challenge, hello))
		},
		"another token": func() wire.Accepted {
			fd, challenge := shaken(t, h.addr, hello)
			return answered(t, fd, prove(testToken+"s", challenge, hello))
		},
		"nothing":     func() wire.Accepted { fd, _ := shaken(t, h.addr, hello); return answered(t, fd, "") },
		"a challenge": func() wire.Accepted { fd, challenge := shaken(t, h.addr, hello); return answered(t, fd, challenge) },
	} {
		if a := replay(); a.Error != errToken.Error() || a.Secret != "" {
			t.Errorf("%s: %+v, want refused", what, a)
		}
	}
	if a := answered(t, fd, proof); a.Error != "" || len(a.Secret) < 26 {
		t.Errorf("its own connection: %+v, want accepted", a)
	}
}

// A server answers only its client, and that only after its secret.
func TestStrangersAreNotAnswered(t *testing.T) {
	for _, loopback := range loopbacks {
		h := admitting(t, loopback, nil)
		c := testConfig(t, h.addr)
		c.Workload, c.Duration, c.token, c.open = "udp-rr", time.Minute, testToken, false
		control, err := dialTCP(t.Context(), c, new(sock.Stopper))
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(control.fd)
		hello := func(secret string) []byte {
			c := c
			c.Secret = secret
			return helloOf(t, c)
		}
		socket := func() int {
			fd, _, err := sock.DialUDP(c.server, 0, askEvery)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Close(fd) })
			return fd
		}
		stranger, client := socket(), socket()
		tell := func(fd int, k wire.Kind, run uint32, payload []byte) {
			t.Helper()
			b := append(make([]byte, wire.HeaderSize), payload...)
			wire.Header{Kind: k, Run: run}.Put(b)
			if _, errno := sock.Send(fd, b); errno != 0 {
				t.Fatal(errno)
			}
		}
		all := func(fd int, secret string) {
			for k := wire.KindWarmup; k <= wire.KindConnect; k++ {
				tell(fd, k, c.Run, hello(secret))
				tell(fd, k|wire.KindAnswer, c.Run, hello(secret))
				tell(fd, k, c.Run+1, hello(secret))
			}
		}
		all(stranger, "")
		all(stranger, "another")
		for k := wire.KindWarmup; k <= wire.KindConnect; k++ { // from the client, but it has not greeted
			if k != wire.KindHello {
				tell(client, k, c.Run, hello(control.far.Secret))
			}
		}
		tell(client, wire.KindHello, c.Run+1, hello(control.far.Secret))
		tell(client, wire.KindHello, c.Run, []byte("{}"))
		if c.server.Addr().Is4() { // it knows the secret, but has another address
			elsewhere, err := sock.Listen(unix.SOCK_DGRAM, netip.MustParseAddrPort("127.0.0.2:0"))
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(elsewhere)
			if err := unix.Connect(elsewhere, sock.Sockaddr(c.server)); err != nil {
				t.Fatal(err)
			}
			all(elsewhere, control.far.Secret)
		}
		u := &udpClient{fd: client, control: -1, run: c.Run, server: c.server, timeout: 5 * time.Second, stop: new(sock.Stopper), buf: make([]byte, 1<<16)}
		var a wire.Accepted
		if err := u.ask(t.Context(), wire.KindHello, hello(control.far.Secret), &a); err != nil || a.Check() != nil {
			t.Fatalf("%+v, %v", a, err)
		}
		all(stranger, control.far.Secret) // even if it knows the secret
		if _, err := u.askRaw(t.Context(), wire.KindEcho, nil); err != nil {
			t.Fatal(err) // the server reads in order, so it has read all the rest
		}
		b := make([]byte, 1<<16)
		if n, errno := sock.RecvFlags(stranger, b, unix.MSG_DONTWAIT); errno != unix.EAGAIN {
			t.Errorf("%s: a stranger was answered %q, %v", loopback, b[:max(n, 0)], errno)
		}
		for { // repeated answers to the hello and the echo, and nothing else
			n, errno := sock.RecvFlags(client, b, unix.MSG_DONTWAIT)
			if errno == unix.EAGAIN {
				break
			}
			if got, _ := wire.ParseHeader(b[:max(n, 0)]); errno != 0 || got.Kind != wire.KindHello|wire.KindAnswer && got.Kind != wire.KindEcho|wire.KindAnswer {
				t.Errorf("%s: the client was answered %+v, %v", loopback, got, errno)
			}
		}
	}
}

// Between runs a server with a token has no socket for datagrams.
func TestNoDatagramsBetweenRuns(t *testing.T) {
	h := admitting(t, loopbacks[0], nil)
	for range 2 {
		if out, err := person(t, append(short("udp-rr", h.addr), "--token", testToken)...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	// The run ends at the server a moment later; then its port is free.
	c := testConfig(t, h.addr)
	for deadline := sock.Now() + int64(5*time.Second); ; {
		fd, err := sock.Listen(unix.SOCK_DGRAM, c.server)
		if err == nil {
			unix.Close(fd)
			break
		}
		if !errors.Is(err, unix.EADDRINUSE) || sock.Now() > deadline {
			t.Fatalf("%v, want the port free", err)
		}
	}
}

// No input before a proof admits a client.
func FuzzHello(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"weir":3,"workload":"tcp-rr","run":1,"streams":1,"size":64,"warmup":0,"duration":1000}` + "\n" + `{"proof":"00"}` + "\n"))
	f.Add([]byte(`{"weir":1}` + "\n"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer sock.CloseAll(fds[:])
		s := &server{stop: new(sock.Stopper), token: testToken}
		if _, errno := sock.Send(fds[0], append(b, '\n')); errno != 0 {
			return // more than the socket holds
		}
		unix.Shutdown(fds[0], unix.SHUT_WR)
		if run, err := s.hello(fds[1], netip.MustParseAddr("10.0.0.1")); err == nil {
			t.Errorf("%q was admitted to %+v", b, run)
		}
	})
}

// No datagram without the secret is answered.
func FuzzGrant(f *testing.F) {
	b := make([]byte, wire.HeaderSize)
	wire.Header{Kind: wire.KindHello, Run: 7}.Put(b)
	f.Add(append(b, `{"weir":3,"workload":"udp-rr","run":7,"streams":1,"size":64,"duration":1000,"secret":"x"}`...))
	f.Fuzz(func(t *testing.T, b []byte) {
		u := &udpServer{msg: sock.NewMessage(), only: &grant{Params: wire.Params{Weir: wire.Version, Workload: "udp-rr", Run: 7, Streams: 1, Size: 64, Duration: 1000}, secret: "the secret of this run"}}
		n := copy(u.msg.Buf, b)
		if h, ok := wire.ParseHeader(u.msg.Buf[:n]); ok && u.admits(h, n) && !bytes.Contains(b, []byte(u.only.secret)) && !bytes.Contains(b, []byte(`\u`)) {
			t.Errorf("%q was admitted", b)
		}
	})
}
