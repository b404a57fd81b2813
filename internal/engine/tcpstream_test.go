package engine

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

func TestTCPStream(t *testing.T) {
	for _, loopback := range loopbacks {
		for _, tc := range []struct {
			flags, send, recv string
			dscp              int
		}{
			{"", "copy", "copy", 0},
			{"--streams 3", "copy", "copy", 0},
			{"--discard --size 1000 --dscp 46", "copy", "discard", 46},
			{"--zerocopy", "zerocopy, copied after all", "copy", 0}, // both ends are on one machine
			{"--sendfile", "sendfile", "copy", 0},
			{"--sendfile --discard --streams 2 --size 100001", "sendfile", "discard", 0},
			{"--zerocopy --discard --streams 2", "zerocopy, copied after all", "discard", 0},
		} {
			t.Run(loopback+" "+tc.flags, func(t *testing.T) {
				addr, _ := serve(t, loopback)
				r := measureUntil(t, func(r event.TCPStream) bool { return r.Bytes > 0 },
					short("tcp-stream", addr, strings.Fields(tc.flags)...)...)
				sum := int64(0)
				for _, b := range r.StreamBytes {
					sum += b
				}
				if r.Bytes <= 0 || sum != r.Bytes || len(r.StreamBytes) != r.Streams {
					t.Errorf("bytes %d of streams %v", r.Bytes, r.StreamBytes)
				}
				if r.Silence <= 0 || r.Silence > r.Window {
					t.Errorf("a silence of %g s in %g s", r.Silence, r.Window)
				}
				if r.Window < 0.03 || r.Congestion != "reno" || r.FarCongestion != "reno" || r.MSS <= 0 || r.SndBuf <= 0 {
					t.Errorf("%+v", r)
				}
				if r.Send != tc.send || r.Recv != tc.recv || r.DSCP != tc.dscp {
					t.Errorf("sent by %s, received by %s, DSCP %d; want %s, %s, %d", r.Send, r.Recv, r.DSCP, tc.send, tc.recv, tc.dscp)
				}
				if zero := strings.HasPrefix(tc.send, "zerocopy"); (r.ZeroSends > 0) != zero || r.ZeroCopied > r.ZeroSends {
					t.Errorf("%d sends without copy, %d of them copied", r.ZeroSends, r.ZeroCopied)
				}
			})
		}
	}
}

func TestTCPSilence(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	for _, bytes := range []int{1, 2} {
		c := testConfig(t, addr)
		c.Workload, c.Size, c.Duration, c.Run = "tcp-stream", 100, 200*time.Millisecond, uint32(bytes)
		conn, err := dialTCP(t.Context(), c, new(sock.Stopper))
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(conn.fd)
		first := sock.Now()
		for range bytes { // the first begins the window and is not part of it
			for sock.Now() < first+int64(time.Millisecond) {
			}
			if _, errno := sock.Send(conn.fd, []byte("x")); errno != 0 {
				t.Fatal(errno)
			}
			first = sock.Now()
		}
		var r wire.StreamReport
		if err := sock.ReadJSON(conn.fd, &r, sock.Now()+int64(5*time.Second), new(sock.Stopper)); err != nil {
			t.Fatal(err)
		}
		// A byte inside the window divides it in two.
		if least := r.Window / (1 + r.Bytes); r.Error != "" || r.Silence < least || r.Silence > r.Window || r.Bytes == 0 && r.Silence != r.Window {
			t.Errorf("%d bytes: %+v, want a silence of at least %d ns", bytes, r, least)
		}
	}
}

// A pause in a fast stream, whose receiver waits for whole buffers, counts in full, though it is longer than a read may take; but
// only the part in the window does.
func TestTCPPause(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	const pause = 4 * sock.Tick
	for name, c := range map[string]struct{ warmup, window, at, want time.Duration }{
		"in the window": {0, 10 * sock.Tick, sock.Tick / 2, pause},
		"longer":        {pause, sock.Tick, pause - sock.Tick/2, sock.Tick}, // a read begins before the window, and gives up in it
	} {
		t.Run(name, func(t *testing.T) {
			r := paused(t, c.warmup, c.window, c.at, pause)
			if r.Error != "" || r.Silence < int64(c.want)*9/10 || r.Silence > int64(c.window) {
				t.Errorf("%+v, want a silence of %v", r, c.want)
			}
		})
	}
}

// paused returns the server's report of a fast stream that pauses so long after it began.
func paused(t *testing.T, warmup, window, at, pause time.Duration) (r wire.StreamReport) {
	addr, _ := serve(t, loopbacks[0])
	c := testConfig(t, addr)
	c.Workload, c.Size, c.Warmup, c.Duration, c.Run = "tcp-stream", readSize, warmup, window, 1
	conn, err := dialTCP(t.Context(), c, new(sock.Stopper))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(conn.fd)
	send := func(until int64) {
		for b := make([]byte, readSize); sock.Now() < until; {
			if _, errno := sock.Send(conn.fd, b[:readSize-1]); errno != 0 && !sock.Again(errno) {
				t.Fatal(errno)
			}
		}
	}
	begin := sock.Now()
	send(begin + int64(at))
	for queued := 1; queued > 0; {
		if queued, err = unix.IoctlGetInt(conn.fd, unix.TIOCOUTQ); err != nil {
			t.Fatal(err)
		}
	}
	for quiet := sock.Now(); sock.Now() < quiet+int64(pause); {
	}
	send(max(sock.Now(), begin+int64(warmup+window)) + int64(sock.Tick))
	if err := sock.ReadJSON(conn.fd, &r, sock.Now()+int64(5*time.Second), new(sock.Stopper)); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTempo(t *testing.T) {
	var s tempo
	at := int64(time.Hour)
	for i, read := range []struct {
		n    int
		took time.Duration
		wait bool
	}{
		{readSize, fillTime / 2, false}, // after an hour of nothing
		{readSize, fillTime / 2, false},
		{readSize, fillTime / 2, true},
		{1, fillTime / 4, true}, // too short to judge
		{readSize - 1, 3 * fillTime / 4, true},
		{readSize / 2, fillTime, false},
		{10 * readSize, fillTime, true},
		{-1, sock.Tick, false},
	} {
		at += int64(read.took)
		if s.add(read.n, at); (s.wait == unix.MSG_WAITALL) != read.wait || s.wait&^unix.MSG_WAITALL != 0 {
			t.Errorf("read %d: %d bytes in %v, then flags %#x", i, read.n, read.took, s.wait)
		}
	}
}
