package engine

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/web"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// An expired certificate ends a run with the words of crypto/x509.
func TestExpired(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	done := make(chan error, 1)
	c := serveConfig{at: netip.MustParseAddrPort("127.0.0.1:0"), open: true, patience: idleTimeout, validFor: -time.Minute}
	go func() { done <- listenAndServe(t.Context(), c, events{w: w}) }()
	line := make([]byte, 1000)
	n, err := r.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, r)
	var ready event.Ready
	if err := json.Unmarshal(line[:n], &ready); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"http-connect", ready.Address, "--tls"}, {"http-rr", ready.Address, "--tls"}, {"h2-rr", ready.Address}, {"grpc-rr", ready.Address}, {"quic-rr", ready.Address}} {
		if _, err := run(t, short(args[0], args[1], args[2:]...)...); err == nil || !strings.Contains(err.Error(), "certificate has expired") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// Answers have the sizes of a distribution, in the order of a seed.
func TestSizesOfAnswers(t *testing.T) {
	addr, stop := serve(t, loopbacks[0])
	defer stop()
	for _, workload := range []string{"http-rr", "http-connect", "h2-rr", "grpc-rr", "quic-rr"} {
		var r event.Web
		measure(t, &r, short(workload, addr, "--sizes", "100 1, 3000 1")...)
		if big := r.Bytes - 100*r.Transactions; r.Size != 1550 || big <= 0 || big%2900 != 0 || big/2900 >= r.Transactions {
			t.Errorf("%s: %d bytes in %d answers, of %d on average", workload, r.Bytes, r.Transactions, r.Size)
		}
	}
	for _, args := range [][]string{{"tcp-rr", addr, "--sizes", "1 1"}, {"http-rr", addr, "--sizes", "1"}} {
		if _, err := run(t, short(args[0], args[1], args[2:]...)...); err == nil || !strings.Contains(err.Error(), "sizes") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// A slowExchanger stalls once, at its nth exchange.
type slowExchanger struct {
	n     int
	stall time.Duration
}

func (s *slowExchanger) exchange() (exchanged, error) {
	if s.n--; s.n == 0 {
		for end := sock.Now() + int64(s.stall); sock.Now() < end; {
			sock.HotNap(time.Millisecond)
		}
	}
	return exchanged{}, nil
}

func (s *slowExchanger) close() {}

// On a schedule, a stall shows in all requests that were due in it; in a closed loop, in one.
func TestCoordinatedOmission(t *testing.T) {
	const stall = 100 * time.Millisecond
	for _, rate := range []float64{0, 1000} {
		w := &webRun{stop: new(sock.Stopper), each: []exchanger{&slowExchanger{n: 50, stall: stall}}, threads: true,
			book: tally.NewLedger(1, 0), connect: tally.NewLedger(1, 0), handshake: tally.NewLedger(1, 0)}
		w.c.rate = rate
		if err := w.all(300*time.Millisecond, true); err != nil {
			t.Fatal(err)
		}
		slow := int64(0) // by half of the stall and more
		for _, b := range w.book.Hist.Distribution() {
			if b.From >= int64(stall/2) {
				slow += b.Count
			}
		}
		switch {
		case rate == 0 && (slow < 1 || slow > 5 || w.result.Offered != 0):
			t.Errorf("a closed loop has %d slow requests, %d offered", slow, w.result.Offered)
		case rate > 0 && (slow < 45 || w.result.Offered != 300 || w.result.LateSends < 90 || w.book.Requests > 300):
			t.Errorf("%d slow requests, %d late, %d sent of %d", slow, w.result.LateSends, w.book.Requests, w.result.Offered)
		}
	}
}

// While a server serves HTTP, it also serves what comes with other first bytes, and a query whose number is the engine's magic.
func TestSideBySide(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	done := make(chan error, 1)
	go func() {
		_, err := run(t, short("dns-rr", addr, "--duration", "500ms")...)
		done <- err
	}()
	conn, err := net.Dial("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	q, err := web.Question(false)
	if err != nil {
		t.Fatal(err)
	}
	web.Number(q, 0x57e1)
	b := make([]byte, 1000)
	for n := 0; ; { // until the run has begun
		_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if _, err := conn.Write(q); err != nil {
			t.Fatal(err)
		}
		if n, err = conn.Read(b); err == nil {
			if err := web.CheckAnswer(b[:n], q); err != nil {
				t.Error(err)
			}
			break
		}
		select {
		case <-done:
			t.Fatal("no answer during the run")
		default:
		}
	}
	var rr event.RR
	measure(t, &rr, short("tcp-rr", addr)...)
	var crr event.CRR
	measure(t, &crr, short("tcp-crr", addr)...)
	if rr.Transactions < 1 || crr.Transactions < 1 {
		t.Errorf("%d and %d transactions", rr.Transactions, crr.Transactions)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, again := range []string{"http-rr", "tcp-crr", "http-connect", "tcp-rr"} { // the accepting thread works again
		if _, err := run(t, short(again, addr)...); err != nil {
			t.Error(err)
		}
	}
	if !wire.Web("h2-rr") || wire.Web("tcp-rr") {
		t.Error("which workloads are of package web")
	}
}

func silence(err error) bool {
	var late net.Error
	return errors.As(err, &late) && late.Timeout()
}

// During a run of QUIC, a stranger gets no answer from the library, and other workloads go on.
func TestQUICAlone(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	done := make(chan error, 1)
	r, w := io.Pipe()
	go func() {
		done <- order(t.Context(), w, short("quic-rr", addr, "--duration", "700ms")...)
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	if !lines.Scan() || lines.Text() != event.MarkBegin {
		t.Fatalf("%q: %v", lines.Text(), <-done)
	}
	identity, err := web.Identify(time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := web.DialQUIC(t.Context(), conn, netip.MustParseAddrPort(addr), identity.Certificate[0], event.MinPacket, 300*time.Millisecond); !silence(err) {
		t.Errorf("a stranger: %v, want silence", err)
	}
	var rr event.RR
	measure(t, &rr, short("udp-rr", addr)...)
	if rr.Transactions < 1 {
		t.Errorf("%d transactions", rr.Transactions)
	}
	for lines.Scan() {
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
