package remote

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/target"
)

// A vandal flips a bit of what passes, drops a byte, or cuts the connection, once, at a random place.
type vandal struct {
	net.Conn
	rng   *rand.Rand
	until int // bytes that still pass unharmed
	did   *atomic.Bool
}

func (v *vandal) Read(b []byte) (int, error) {
	n, err := v.Conn.Read(b)
	if v.until -= n; v.until >= 0 || n == 0 || v.did.Swap(true) {
		return n, err
	}
	switch i := v.rng.IntN(n); v.rng.IntN(3) {
	case 0:
		b[i] ^= 1 << v.rng.IntN(8)
	case 1:
		n = i + copy(b[i:], b[i+1:n])
	default:
		v.Conn.Close()
		return i, nil
	}
	return n, err
}

// 1,000 transfers of raw output over a pipe that cuts and flips: those that succeed are whole, and
// those that fail have delivered nothing but the beginning.
func TestTransfers(t *testing.T) {
	const transfers = 1000
	rng := rand.New(rand.NewPCG(7, 19))
	raw := make([]byte, 100_000)
	for i := range raw {
		raw[i] = byte(rng.Uint32())
	}
	file := filepath.Join(t.TempDir(), "raw")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	quick := times{beat: 10 * time.Millisecond, silence: time.Minute, greet: time.Second}
	var good, failed, harmed int
	for good+failed < transfers {
		ours, theirs := net.Pipe()
		var did atomic.Bool
		// Base64 makes the output a third longer, and half of the connections carry several transfers.
		near := &vandal{ours, rand.New(rand.NewPCG(rng.Uint64(), 1)), rng.IntN(1_200_000), &did}
		far := &vandal{theirs, rand.New(rand.NewPCG(rng.Uint64(), 2)), rng.IntN(4_000), &did}
		ended := make(chan error, 1)
		go func() {
			err := serve(far, far, "", quick)
			theirs.Close()
			ended <- err
		}()
		n, _, err := dial(t.Context(), "far", near, nil, quick)
		for err == nil && good+failed < transfers {
			var got bytes.Buffer
			err = n.Run(t.Context(), target.Cmd{Argv: []string{"cat", file}, Stdout: &got})
			switch {
			case err == nil && bytes.Equal(got.Bytes(), raw):
				good++
			case err != nil && bytes.HasPrefix(raw, got.Bytes()):
				failed++
				if !errors.Is(err, target.ErrLost) {
					t.Errorf("a transfer failed with %v", err)
				}
			default:
				t.Fatalf("a transfer was corrupted: %d bytes, %v", got.Len(), err)
			}
		}
		if n != nil {
			n.Close()
		}
		ours.Close()
		<-ended
		if did.Load() {
			harmed++
		}
	}
	t.Logf("%d of %d transfers succeeded; %d connections were harmed", good, transfers, harmed)
	if good < transfers/10 || failed < transfers/10 {
		t.Errorf("%d transfers succeeded and %d failed: the test shows nothing", good, failed)
	}
}

// The far end's programs end when it hears nothing, although the pipe stays open.
func TestFarEndAlone(t *testing.T) {
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- serve(theirs, theirs, "", times{beat: 10 * time.Millisecond, silence: 2 * time.Second, greet: time.Minute})
	}()
	wire := &cuttable{Conn: ours}
	n, _, err := dial(t.Context(), "far", wire, nil, times{beat: 10 * time.Millisecond, silence: time.Minute, greet: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	pid := make(chan string, 1)
	go n.Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", "echo $$; exec sleep 1000"}, Stdout: first(pid)})
	sleeper := <-pid
	wire.cut.Store(true)
	err = <-ended
	if err == nil || !strings.Contains(err.Error(), "silent for 2s") {
		t.Errorf("the far end ended with %v", err)
	}
	if _, err := os.Stat("/proc/" + sleeper); err == nil {
		t.Error("its program is left")
	}
	ours.Close()
	theirs.Close()
	n.Close()
}

// A cuttable conn swallows what is written once it is cut, and delivers nothing.
type cuttable struct {
	net.Conn
	cut atomic.Bool
}

func (c *cuttable) Write(b []byte) (int, error) {
	if c.cut.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *cuttable) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.cut.Load() {
		_, err = io.Copy(io.Discard, c.Conn) // until it is closed
		return 0, cmp.Or(err, io.EOF)
	}
	return n, err
}

// first sends the first line written to it, without its end.
type first chan string

func (f first) Write(b []byte) (int, error) {
	if line, _, ok := bytes.Cut(b, []byte("\n")); ok {
		select {
		case f <- string(line):
		default:
		}
	}
	return len(b), nil
}

// A cutter passes the greeting and then whole frames, and ends the connection at a boundary: after unit last, or
// off bytes later. Unit 0 is the greeting.
type cutter struct {
	net.Conn
	in        *bufio.Reader
	last, off int
	unit      int    // to be read next
	rest      []byte // of the unit that passes
	cut       bool   // rest is all that passes
}

func (c *cutter) Read(b []byte) (int, error) {
	for len(c.rest) == 0 {
		if c.cut {
			c.Conn.Close()
			return 0, io.EOF
		}
		var err error
		if c.unit == 0 {
			c.rest, err = c.in.ReadBytes('\n')
		} else {
			var payload []byte
			payload, err = readFrame(c.in, uint32(c.unit-1))
			c.rest = appendFrame(nil, uint32(c.unit-1), payload)
		}
		if err != nil {
			return 0, err
		}
		switch {
		case c.unit == c.last && c.off <= 0:
			c.rest, c.cut = c.rest[:len(c.rest)+c.off], true
		case c.unit > c.last:
			c.rest, c.cut = c.rest[:c.off], true
		}
		c.unit++
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// A connection that ends at a boundary of frames, or a byte before or after one, in either direction, is lost at both
// ends, and what had arrived of a program's output is its beginning.
func TestCutAtBoundaries(t *testing.T) {
	calm := times{beat: time.Minute, silence: time.Minute, greet: time.Minute}
	output := strings.Repeat("the output\n", 20_000) // takes several frames
	exchange := func(side, last, off int) (cut bool, err error) {
		ours, theirs := net.Pipe()
		wires := [2]*cutter{{Conn: ours, in: bufio.NewReader(ours), last: 1 << 30}, {Conn: theirs, in: bufio.NewReader(theirs), last: 1 << 30}}
		wires[side].last, wires[side].off = last, off
		ended := make(chan error, 1)
		go func() {
			err := serve(wires[1], wires[1], "", calm)
			theirs.Close()
			ended <- err
		}()
		n, _, err := dial(t.Context(), "far", wires[0], nil, calm)
		if err == nil {
			var got bytes.Buffer
			err = n.Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", "yes the output | head -n 20000"}, Stdout: &got})
			switch {
			case err == nil && got.String() != output, !strings.HasPrefix(output, got.String()):
				t.Errorf("%d bytes arrived, %v", got.Len(), err)
			case err != nil && !errors.Is(err, target.ErrLost):
				t.Errorf("the program failed with %v", err)
			}
			n.Close()
		}
		<-ended
		return wires[side].cut, err
	}
	cuts, failed := 0, 0
	for side, name := range []string{"to the near end", "to the far end"} {
		for last := 0; ; last++ {
			reached := false
			for off := -1; off <= 1; off++ {
				cut, err := exchange(side, last, off)
				reached = reached || cut
				if cut {
					cuts++
				}
				if err != nil {
					failed++
				}
				if err != nil && !cut {
					t.Errorf("%s, uncut: %v", name, err)
				}
			}
			if !reached {
				break
			}
		}
	}
	t.Logf("%d cuts, of which %d came before the program's end was known", cuts, failed)
	if cuts < 20 || failed < cuts/2 {
		t.Errorf("%d cuts, %d failures: the test shows nothing", cuts, failed)
	}
}
