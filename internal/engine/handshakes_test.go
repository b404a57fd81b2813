package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// What make soak sets to a million. 10,000 take 6 s on two idle CPUs.
var handshakes = flag.Int("handshakes", 10000, "connections of strangers to one server")

// A stranger's connections are of these kinds, in turn.
var manners = []struct {
	name string
	do   func(fd int, hello, wrong []byte) error
}{
	{"silent", func(int, []byte, []byte) error { return nil }},
	{"half a hello", func(fd int, hello, _ []byte) error { return tell(fd, hello[:len(hello)/2]) }},
	{"no hello", func(fd int, _, _ []byte) error { return tell(fd, []byte("GET / HTTP/1.1\r\n\r\n")) }},
	{"wrong token", func(fd int, hello, _ []byte) error { return meetAs("another-token-of-the-tests", fd, hello) }},
	{"no proof", func(fd int, hello, _ []byte) error { return tell(fd, append(hello[:len(hello):len(hello)], '\n')) }},
	{"token, impossible run", func(fd int, _, wrong []byte) error { return meetAs(testToken, fd, wrong) }},
}

func tell(fd int, b []byte) error {
	return sock.WriteFull(fd, b, sock.Now()+int64(time.Second), new(sock.Stopper))
}

// meetAs sends a hello, answers the challenge and waits for the refusal. A server that is full ends the connection
// at any point: that is an error here, and right.
func meetAs(token string, fd int, hello []byte) error {
	var a wire.Accepted
	deadline, stop := sock.Now()+int64(5*time.Second), new(sock.Stopper)
	err := tell(fd, append(hello[:len(hello):len(hello)], '\n'))
	if err == nil {
		err = sock.ReadJSON(fd, &a, deadline, stop)
	}
	if err == nil && a.Error == "" {
		if err = sock.WriteJSON(fd, wire.Admission{Proof: prove(token, a.Challenge, hello)}, deadline, stop); err == nil {
			err = sock.ReadJSON(fd, &a, deadline, stop)
		}
	}
	if err == nil && a.Error == "" {
		panic("the server accepted a stranger")
	}
	return err
}

// Strangers in any number cost the server bounded memory, which it gives back, and no client its run.
func TestHandshakes(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // as in the server's process
	h := admitting(t, loopbacks[0], nil)
	go func() { // a server whose output nobody reads waits after 1000 lines, two for every client, and serves nobody
		for range h.lines {
		}
	}()
	to := netip.MustParseAddrPort(h.addr)
	c := testConfig(t, h.addr)
	hello := helloOf(t, c)
	c.Size = -1
	wrong, err := json.Marshal(c.Params)
	if err != nil {
		t.Fatal(err)
	}
	debug.FreeOSMemory()
	before, most := anonymous(t), 0.0
	begun := time.Now()
	var next, met atomic.Int64
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			var held [100]int // so many are silent at once
			for i := 0; next.Add(1) <= int64(*handshakes); i++ {
				fd, err := strange(to, uint32(w*10+i%10))
				if err != nil {
					t.Errorf("handshake %d: %v", i, err)
					return
				}
				if manners[i%len(manners)].do(fd, hello, wrong) == nil {
					met.Add(1)
				}
				old := &held[i%len(held)]
				if *old != 0 {
					unix.Close(*old)
				}
				*old = fd
			}
			for _, fd := range held {
				if fd != 0 {
					unix.Close(fd)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	served, failed, over := 0, []error{}, false
	for !over {
		select {
		case <-done:
			over = true
		default:
		}
		if _, err := person(t, "run", "udp-rr", h.addr, "--duration", "10ms", "--warmup", "0s", "--token", testToken); err != nil {
			failed = append(failed, fmt.Errorf("a client after %d strangers: %w", next.Load(), err))
		} else {
			served++
		}
		most = max(most, anonymous(t)-before)
	}
	took := time.Since(begun)
	debug.FreeOSMemory() // of the clients of this process
	after := anonymous(t) - before
	t.Logf("%d handshakes in %v, %d of them to their end; memory grew by at most %.1f MB, at the end by %.1f MB; meanwhile %d clients were served, %d not: %v",
		*handshakes, took.Round(time.Second), met.Load(), most, after, served, len(failed), errors.Join(failed...))
	// A machine so busy that a thread waits for seconds fails some of them by itself.
	if most > 256 || after > 32 || served < 9*len(failed) || served == 0 {
		t.Errorf("want growth by at most 256 MB, 32 MB at the end, and nine clients of ten served")
	}
}

// strange connects from an address of its own, and closes without a trace in the table of sockets.
func strange(to netip.AddrPort, n uint32) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	from := unix.SockaddrInet4{}
	binary.BigEndian.PutUint32(from.Addr[:], 127<<24|1<<16|n) // 127.1.0.n
	if err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err == nil {
		err = unix.Bind(fd, &from)
	}
	if err == nil {
		err = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	}
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
	}
	if err == nil {
		err = sock.SetTimeouts(fd, sock.Tick)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("connect from %v: %w", netip.AddrFrom4(from.Addr), err)
	}
	return fd, nil
}

// anonymous returns the memory of this process that no file backs, MB (proc(5), status).
func anonymous(t *testing.T) float64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "RssAnon:")
	kB, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return kB * 1024 / 1e6
}
