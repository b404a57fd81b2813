package engine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// Orders take the token from the agent's environment, for every workload and for reach.
func TestOrdersWithToken(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, loopback := range loopbacks {
		h := admitting(t, loopback, nil)
		t.Setenv(tokenVariable, testToken)
		orders := [][]string{{"reach", h.addr, "--size", "1500"}}
		for _, workload := range wire.Workloads {
			orders = append(orders, short(workload, h.addr))
		}
		orders = append(orders, short("tcp-stream", h.addr, "--streams", "5"), []string{"reach", h.addr, "--size", "65535"})
		var in, out, errs bytes.Buffer
		for _, o := range orders {
			b, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			in.Write(append(b, '\n'))
		}
		if err := Agent(t.Context(), &in, &out, &errs); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), event.MarkResult); n != len(orders) {
			t.Errorf("%s: %d results of %d orders:\n%s", loopback, n, len(orders), &out)
		}
		t.Setenv(tokenVariable, "another-token-of-the-tests")
		for _, o := range orders {
			if lines, err := run(t, o...); err == nil || !strings.Contains(err.Error(), "not this server's token") {
				t.Errorf("%s: with another token: %q, %v", loopback, lines, err)
			}
		}
	}
}

// An open server serves orders although the agent has a token.
func TestTokenForOpenServer(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	t.Setenv(tokenVariable, testToken)
	for _, o := range [][]string{{"reach", addr, "--size", "1500"}, short("udp-rr", addr), short("tcp-rr", addr)} {
		if _, err := run(t, o...); err != nil {
			t.Errorf("%v: %v", o, err)
		}
	}
}

// blockedBy runs reach, which must fail, and returns what the error event says of the path.
func blockedBy(t *testing.T, args ...string) (event.Error, event.Blocked) {
	t.Helper()
	lines, err := run(t, append([]string{"reach"}, args...)...)
	var failed event.Error
	if err == nil || json.Unmarshal([]byte(lines[0]), &failed) != nil || failed.Error != err.Error() || strings.Contains(failed.Error, "\n") {
		t.Fatalf("%q, %v", lines, err)
	}
	if failed.Blocked == nil {
		t.Fatalf("%q does not say what is blocked", lines)
	}
	return failed, *failed.Blocked
}

// admits answers the hello of a run over TCP as a server does that needs no proof.
func admits(t *testing.T, a wire.Accepted) netip.AddrPort {
	t.Helper()
	a.Weir = wire.Version
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
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
			go func() {
				defer conn.Close()
				lines := bufio.NewReader(conn)
				_, _ = lines.ReadString('\n')
				_, _ = conn.Write(append(b, '\n'))
				_, _ = lines.ReadString('\n') // until the client is gone
			}()
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String())
}

// An error of reach tells TCP that is refused from UDP that is refused, and from UDP that is dropped.
func TestReachNamesTheProtocol(t *testing.T) {
	t.Setenv(tokenVariable, testToken)
	at := admits(t, wire.Accepted{Secret: "x"})
	failed, what := blockedBy(t, at.String(), "--size", "1000", "--timeout", "50ms")
	if what != (event.Blocked{Protocol: "udp"}) || !strings.Contains(failed.Error, "connection refused") || !strings.Contains(failed.Error, "answers over TCP but not over UDP") {
		t.Errorf("UDP is refused: %+v", failed)
	}
	silent, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	failed, what = blockedBy(t, at.String(), "--size", "1000", "--timeout", "50ms")
	if what != (event.Blocked{Protocol: "udp"}) || !strings.Contains(failed.Error, "no answer within 50ms") || !strings.Contains(failed.Error, "answers over TCP but not over UDP") {
		t.Errorf("UDP is dropped: %+v", failed)
	}
	failed, what = blockedBy(t, "127.0.0.1:1", "--size", "1000", "--timeout", "50ms")
	if what != (event.Blocked{Protocol: "tcp"}) || !strings.Contains(failed.Error, "tcp 127.0.0.1:1: connect: connection refused for 50ms") {
		t.Errorf("TCP is refused: %+v", failed)
	}
}

// A server that ends between its two protocols is not taken for a firewall.
func TestReachServerEnds(t *testing.T) {
	t.Setenv(tokenVariable, testToken)
	b, err := json.Marshal(wire.Accepted{Weir: wire.Version, Secret: "x"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return // closed
		}
		_, _ = bufio.NewReader(conn).ReadString('\n')
		_, _ = conn.Write(append(b, '\n'))
		conn.Close()
	}()
	lines, err := run(t, "reach", l.Addr().String(), "--size", "1000", "--timeout", "50ms")
	if err == nil || !strings.Contains(err.Error(), "closed the TCP connection of this run") || strings.Contains(lines[0], "blocked") {
		t.Errorf("%q, %v", lines, err)
	}
}

// returning is a server that returns packets of most bytes, IPv4 and UDP headers included.
func returning(t *testing.T, most int) string {
	t.Helper()
	return fakeUDP(t, netip.MustParseAddrPort(loopbacks[0]), func(_ wire.Header, payload []byte, _ netip.AddrPort) ([]byte, int) {
		if len(payload)+wire.HeaderSize+ipUDPHeaders(false) > most {
			return nil, 0
		}
		return payload, 1
	}).String()
}

// Where only smaller packets come back, reach says how large they can be.
func TestReachNarrows(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, most := range []int{44, 45, 1450, 1499} {
		failed, what := blockedBy(t, returning(t, most), "--size", "1500", "--timeout", "100ms")
		want := event.Blocked{Carries: most, Not: most + 1}
		if what != want || !strings.Contains(failed.Error, "no packet of 1500 bytes came back within 100ms") {
			t.Errorf("of %d bytes: %+v %s, want %+v", most, what, failed.Error, want)
		}
	}
	if lines, err := run(t, "reach", returning(t, 0), "--size", "1500", "--timeout", "30ms"); err == nil || strings.Contains(lines[0], "blocked") {
		t.Errorf("nothing comes back: %q, %v", lines, err)
	}
}

// Unless a congestion control is asked for, each end takes its machine's own where it cannot set it,
// and the client takes the server's.
func TestCongestionControlGivesWay(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	c := testConfig(t, addr)
	c.Workload, c.CC = "tcp-stream", "nonesuch"
	if conn, err := dialTCP(t.Context(), c, new(sock.Stopper)); err == nil || !strings.Contains(err.Error(), "nonesuch") {
		t.Errorf("asked for: %+v, %v", conn, err)
	}
	c.AnyCC = true
	conn, err := dialTCP(t.Context(), c, new(sock.Stopper))
	if err != nil || conn.cc == "" || conn.cc == "nonesuch" || conn.far.CC != conn.cc {
		t.Errorf("not asked for: %q here, %q there, %v", conn.cc, conn.far.CC, err)
	}
	sock.CloseAll([]int{conn.fd})

	// A server that cannot set it answers with its own.
	hello := c.Params
	hello.Run++
	plain, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	_ = plain.SetDeadline(time.Now().Add(10 * time.Second))
	var a wire.Accepted
	err = errors.Join(json.NewEncoder(plain).Encode(hello), json.NewDecoder(plain).Decode(&a))
	if err != nil || a.Error != "" || a.CC == "" || a.CC == "nonesuch" {
		t.Errorf("the server answers %+v, %v", a, err)
	}

	for far, want := range map[string]string{"reno": "", "nonesuch": "which this machine cannot set: ask for one that both allow"} {
		c.server = admits(t, wire.Accepted{CC: far})
		conn, err := dialTCP(t.Context(), c, new(sock.Stopper))
		switch {
		case want == "" && (err != nil || conn.cc != far):
			t.Errorf("a server with %s: %q here, %v", far, conn.cc, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("a server with %s: %v, want %q", far, err, want)
		}
		if err == nil {
			sock.CloseAll([]int{conn.fd})
		}
	}
}

// A run whose congestion control was not asked for says what was used, over every connection.
func TestCongestionControlIsReported(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	for _, workload := range []string{"tcp-stream", "tcp-rr", "tcp-crr"} {
		var r struct{ Congestion, ServerCongestion string }
		lines, err := run(t, "run", workload, addr, "--duration", "20ms")
		if err == nil {
			err = json.Unmarshal([]byte(lines[len(lines)-1]), &r)
		}
		if err != nil || r.Congestion == "" || r.Congestion != r.ServerCongestion {
			t.Errorf("%s: %+v, %v", workload, r, err)
		}
	}
}
