package engine

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

func TestConnectRequestResponse(t *testing.T) {
	for _, loopback := range loopbacks {
		for _, size := range []string{"16", "100000"} {
			t.Run(loopback+" "+size, func(t *testing.T) {
				addr, _ := serve(t, loopback)
				_, port, _ := net.SplitHostPort(addr)
				before, _ := timeWait(t, port) // of an older server on this port
				var r event.CRR
				measure(t, &r, short("tcp-crr", addr, "--size", size, "--duration", "100ms")...)
				h, connect := decoded(t, "rtt", r.Hist), decoded(t, "connect", r.ConnectHist)
				if h.TotalCount() != r.Transactions || connect.TotalCount() != r.Transactions || r.Transactions < 1 || r.Lost != 0 {
					t.Errorf("histograms of %d and %d, %d answered", h.TotalCount(), connect.TotalCount(), r.Transactions)
				}
				if connect.Mean() >= h.Mean() || r.Ports != crrPorts {
					t.Errorf("connecting took %.0f of %.0f ns, %d ports", connect.Mean(), h.Mean(), r.Ports)
				}
				server, client := timeWait(t, port)
				// The client has the connection that held the run, and a few from older clients on
				// this port.
				if server-before > crrPorts+10 || client > 10 {
					t.Errorf("%d sockets in TIME-WAIT at the server, %d of them older, %d at the client", server, before, client)
				}
			})
		}
	}
}

// timeWait counts sockets in TIME-WAIT by the end that has the port.
func timeWait(t *testing.T, port string) (own, remote int) {
	t.Helper()
	seen := map[string]bool{} // a table that changes meanwhile lists some sockets twice
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // a kernel without IPv6
		}
		var n int
		fmt.Sscan(port, &n)
		hex := fmt.Sprintf(":%04X", n)
		for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
			f := strings.Fields(s.Text())
			switch {
			case len(f) < 4 || f[3] != "06" || seen[f[1]+f[2]]: // TCP_TIME_WAIT, include/net/tcp_states.h
			case strings.HasSuffix(f[1], hex):
				seen[f[1]+f[2]] = true
				own++
			case strings.HasSuffix(f[2], hex):
				seen[f[1]+f[2]] = true
				remote++
			}
		}
	}
	return own, remote
}

// Short connections do not block other runs, and malformed ones do no harm.
func TestShortConnections(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	server, err := parseServer("test", addr)
	if err != nil {
		t.Fatal(err)
	}
	c := config{server: server, timeout: 5 * time.Second, Params: wire.Params{Weir: wire.Version, Workload: "tcp-crr", Run: 7, Streams: 1, Size: 20, Duration: time.Second}}
	held, err := dialTCP(t.Context(), c, new(sock.Stopper))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(held.fd)
	request := make([]byte, 20)
	ask := func(what string, b []byte) (answer []byte) {
		t.Helper()
		conn, err := dialOnce(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(conn.fd)
		if _, errno := sock.Send(conn.fd, b); errno != 0 {
			t.Fatalf("%s: %v", what, errno)
		}
		unix.Shutdown(conn.fd, unix.SHUT_WR)
		answer = make([]byte, wire.MaxLine)
		deadline := sock.Now() + int64(5*time.Second)
		for n := range answer {
			if err := sock.ReadFull(conn.fd, answer[n:n+1], deadline, new(sock.Stopper)); err != nil {
				if errors.Is(err, sock.ErrSilent) {
					t.Errorf("%s: %v", what, err)
				}
				return answer[:n]
			}
		}
		return answer
	}
	wire.Header{Kind: wire.KindConnect, Run: 7, Seq: 1}.Put(request)
	if got, ok := wire.ParseHeader(ask("a request", request)); !ok || got.Kind != wire.KindConnect|wire.KindAnswer || got.Seq != 1 {
		t.Errorf("a request was answered with %+v", got)
	}
	wire.Header{Kind: wire.KindConnect, Run: 8, Seq: 1}.Put(request)
	for what, b := range map[string][]byte{"another run": request, "half a request": request[:18]} {
		if got := ask(what, b); len(got) != 0 {
			t.Errorf("%s was answered with %q", what, got)
		}
	}
	if got := ask("garbage", []byte("GET / HTTP/1.1\r\n\r\n")); !strings.Contains(string(got), "error") {
		t.Errorf("garbage was answered with %q", got)
	}
	measure(t, new(event.RR), short("tcp-rr", addr)...)
}
