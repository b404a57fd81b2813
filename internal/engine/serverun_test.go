package engine

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// ends waits for the server's end, before which it says nothing.
func (h *host) ends(t *testing.T) {
	t.Helper()
	for line := range h.lines {
		t.Errorf("before its end the server says %q", line)
	}
	if h.err != nil {
		t.Errorf("the server ended with %v", h.err)
	}
}

func TestIdle(t *testing.T) {
	admitting(t, loopbacks[0], func(c *serveConfig) { c.idle = 20 * time.Millisecond }).ends(t)
}

// A server does not end during a run; a client that is not admitted has no run.
func TestIdleWaitsForRuns(t *testing.T) {
	h := admitting(t, loopbacks[0], func(c *serveConfig) { c.idle = 50 * time.Millisecond })
	if out, err := person(t, "run", "udp-rr", h.addr, "--token", testToken, "--duration", "200ms"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	h.ends(t)
}

// held begins a run and sends nothing.
func held(t *testing.T, addr, workload string, size int, d time.Duration) tcpConn {
	t.Helper()
	c := testConfig(t, addr)
	c.Workload, c.Size, c.Duration, c.token, c.open = workload, size, d, testToken, false
	conn, err := dialTCP(t.Context(), c, new(sock.Stopper))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// A second run is refused during the first, and served after it, even if the first client just
// disappears.
func TestOneRunAtATime(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	h := admitting(t, loopbacks[0], nil)
	for _, workload := range []string{"tcp-stream", "udp-rr", "tcp-crr"} {
		first := held(t, h.addr, workload, 64, time.Hour)
		if out, err := person(t, append(short("tcp-rr", h.addr), "--token", testToken)...); err == nil || !strings.Contains(err.Error(), errBusy.Error()) {
			t.Errorf("during %s: %v, want busy\n%s", workload, err, out)
		}
		unix.SetsockoptLinger(first.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // a reset
		unix.Close(first.fd)
		if out, err := person(t, append(short("tcp-rr", h.addr), "--token", testToken)...); err != nil {
			t.Errorf("after %s: %v\n%s", workload, err, out)
		}
	}
}

// Clients with no hello, or part of one, do not block others.
func TestSilentClients(t *testing.T) {
	h := admitting(t, loopbacks[0], nil)
	for _, said := range []string{"", fmt.Sprintf(`{"weir":%d`, wire.Version), "W\xe1"} {
		conn, err := net.Dial("tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(said)); err != nil {
			t.Fatal(err)
		}
	}
	hello := helloOf(t, testConfig(t, h.addr))
	shaken(t, h.addr, hello) // and never proves
	for _, workload := range wire.Workloads {
		if out, err := person(t, append(short(workload, h.addr), "--token", testToken)...); err != nil {
			t.Errorf("%s: %v\n%s", workload, err, out)
		}
	}
}

// A run ends at the server when its time is up, even if the client keeps sending or does not read.
func TestRunsEnd(t *testing.T) {
	h := admitting(t, loopbacks[0], func(c *serveConfig) { c.patience = 50 * time.Millisecond })
	for _, tc := range []struct {
		workload string
		size     int
		writes   bool
	}{
		{"tcp-rr", 64, false}, {"udp-rr", 64, false}, {"tcp-crr", 64, false}, {"tcp-stream", 64, false},
		{"tcp-stream", 64, true},  // and does not end
		{"tcp-rr", 1 << 20, true}, // and does not read the answers
	} {
		fd := held(t, h.addr, tc.workload, tc.size, time.Millisecond).fd
		if tc.writes {
			flood(fd)
		}
		for deadline := time.Now().Add(time.Minute); ; {
			out, err := person(t, append(short("tcp-rr", h.addr), "--token", testToken)...)
			if err == nil {
				break
			}
			if time.Now().After(deadline) { // it is busy or, where programs wait for a CPU, the server's patience was too short
				t.Fatalf("%s has not ended: %v\n%s", tc.workload, err, out)
			}
		}
		unix.Close(fd)
	}
}

func flood(fd int) {
	b := make([]byte, 64<<10)
	for {
		if _, errno := sock.Send(fd, b); errno != 0 && !sock.Again(errno) {
			return
		}
	}
}

// Silent connections lock nobody out: the oldest of the address with most of them makes room.
func TestFull(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	h := admitting(t, loopbacks[0], nil)
	var silent []net.Conn
	dial := func(from string) net.Conn {
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	other := dial("127.0.0.2") // the oldest, and the only one of its address
	for range 2 * maxConns {
		silent = append(silent, dial("127.0.0.1"))
	}
	if _, err := silent[0].Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the oldest connection: %v, want its end", err)
	}
	if out, err := person(t, append(short("tcp-stream", h.addr, "--streams", "3"), "--token", testToken)...); err != nil {
		t.Errorf("a client with the token: %v\n%s", err, out)
	}
	if _, err := io.WriteString(other, "x\n"); err != nil {
		t.Error(err)
	}
	if said, err := bufio.NewReader(other).ReadString('\n'); err != nil || !strings.Contains(said, "error") {
		t.Errorf("the connection of another address: %q, %v, want an answer", said, err)
	}
}

// Connections that become no run leave no garbage, although automatic collection is off.
func TestStrangersLeaveNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	h := admitting(t, loopbacks[0], nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range maxConns {
		conn, err := net.Dial("tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "x\n")
		_, _ = bufio.NewReader(conn).ReadString('\n') // an error, or the end
		conn.Close()
	}
	deadline := time.Now().Add(20 * time.Second)
	for after.NumForcedGC == before.NumForcedGC {
		if time.Now().After(deadline) {
			t.Fatal("no collection")
		}
		time.Sleep(time.Millisecond) // no event announces it
		runtime.ReadMemStats(&after)
	}
}

// Nor do runs, on a server without a token as on one with: a lab's server serves thousands of trials.
func TestRunsLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	addr, _ := serve(t, loopbacks[0])
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	measure(t, new(json.RawMessage), "run", "udp-rr", addr, "--duration", "30ms", "--warmup", "0s")
	deadline := time.Now().Add(20 * time.Second)
	for after.NumForcedGC == before.NumForcedGC {
		if time.Now().After(deadline) {
			t.Fatal("no collection")
		}
		time.Sleep(time.Millisecond) // no event announces it
		runtime.ReadMemStats(&after)
	}
}

func fakeTCP(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_, _ = io.WriteString(conn, answer)
			conn.Close()
		}
	}()
	return l.Addr().String()
}

// Other servers on the port are recognized.
func TestOtherServers(t *testing.T) {
	old, err := json.Marshal(map[string]any{"weir": 1, "error": "version 3 of the other end is not 1", "rcvbuf": 0})
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{
		string(old) + "\n":         fmt.Sprintf("the other end has version 1, this end %d; use the same weir at both ends", wire.Version),
		"220 mail.example ESMTP\n": "is the program on that port weir engine serve?",
		"":                         "is the program on that port weir engine serve?",
		fmt.Sprintf("{\"weir\":%d,\"error\":\"no\"}\n", wire.Version): "the server refused: no",
	} {
		addr := fakeTCP(t, answer)
		for _, workload := range []string{"tcp-rr", "udp-rr"} {
			_, err := person(t, short(workload, addr)...)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s, %q: %v, want %q", workload, answer, err, want)
			}
		}
	}
}
