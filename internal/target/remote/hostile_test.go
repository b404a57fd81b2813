package remote

import (
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
	transfers := 1000
	if testing.Short() {
		transfers /= 10
	}
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
	t.Parallel()
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
