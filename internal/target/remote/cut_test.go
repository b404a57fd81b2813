package remote

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/target"
)

// An end of a pipe that can be cut. Every greeting and every frame is one write.
type end struct {
	io.Reader
	io.Writer
	close func()
}

func (e end) Close() error { e.close(); return nil }

var errWire = errors.New("the wire was cut")

// A knife cuts the pipe at one write: it lets some bytes of it pass.
type knife struct {
	io.Writer
	writes int // that still pass whole
	keep   func(size int) int
	cut    func()
	did    bool
}

func (k *knife) Write(b []byte) (int, error) {
	if k.writes--; k.writes != -1 {
		return k.Writer.Write(b)
	}
	k.did = true
	n, err := 0, error(nil)
	if keep := k.keep(len(b)); keep > 0 {
		n, err = k.Writer.Write(b[:keep])
	}
	k.cut()
	if err == nil && n < len(b) {
		err = errWire
	}
	return n, err
}

// Wherever the pipe is cut, at the boundary of a frame or one byte beside it, the near end gets an error with its
// cause in a bounded time, or all that it asked for; the far end's program ends, and nothing goes on.
func TestCuts(t *testing.T) {
	nstest.Need(t)
	torn := make(chan os.Signal, 1) // package os/signal starts a goroutine with the first one and keeps it
	signal.Notify(torn, syscall.SIGPIPE)
	defer signal.Stop(torn)
	for name, keep := range map[string]func(size int) int{
		"before":                  func(int) int { return 0 },
		"after the first byte of": func(int) int { return 1 },
		"before the last byte of": func(size int) int { return size - 1 },
		"after":                   func(size int) int { return size },
	} {
		for _, side := range []string{"near", "far"} {
			t.Run(name+" a write of the "+side+" end", func(t *testing.T) {
				cuts := 0
				for cutAt(t, side, cuts, keep) {
					cuts++
				}
				if cuts < 4 { // near: greeting, hello, run, input, end of input; far: greeting, answer, output, exit
					t.Errorf("only %d cuts", cuts)
				}
				t.Logf("%d cuts", cuts)
			})
		}
	}
}

// cutAt holds a conversation that is cut at a write of one side, and reports whether it came to that.
func cutAt(t *testing.T, side string, write int, keep func(int) int) bool {
	t.Helper()
	goroutines := runtime.NumGoroutine()
	fromFar, far := io.Pipe()
	fromNear, near := io.Pipe()
	cut := func() {
		far.CloseWithError(errWire) // as the program that holds the pipe explains its end
		near.Close()
	}
	k := &knife{writes: write, keep: keep, cut: cut}
	ours, theirs := end{fromFar, near, cut}, end{fromNear, far, cut}
	if side == "near" {
		k.Writer, ours.Writer = near, k
	} else {
		k.Writer, theirs.Writer = far, k
	}
	slow := times{beat: time.Hour, silence: time.Hour, greet: time.Hour} // only the cut ends anything
	pid := filepath.Join(t.TempDir(), "pid")
	begin, served := time.Now(), make(chan error, 1)
	go func() {
		served <- serve(theirs, theirs, "", slow)
		cut()
	}()

	n, _, err := dial(t.Context(), "far", ours, nil, slow)
	if err == nil {
		var out bytes.Buffer
		err = n.Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", "echo $$ > " + pid + "; cat; head -c 100000 /dev/zero"},
			Stdin: strings.NewReader("input"), Stdout: &out})
		whole := append([]byte("input"), make([]byte, 100_000)...)
		switch {
		case !bytes.HasPrefix(whole, out.Bytes()):
			t.Errorf("write %d: %d other bytes arrived", write, out.Len())
		case err != nil && !errors.Is(err, target.ErrLost):
			t.Errorf("write %d: the program ended with %v", write, err)
		case err == nil && out.Len() != len(whole):
			t.Errorf("write %d: the program ended well with %d bytes", write, out.Len())
		case err == nil && k.did: // the cut came after everything
			_, err = n.Sample(t.Context())
		}
		n.Close()
	}
	select {
	case <-served: // nil where the pipe ended between two frames
	case <-time.After(10 * time.Second):
		t.Fatalf("write %d: the far end goes on", write)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("write %d: it took %v", write, took)
	}
	if k.did && (err == nil || !errors.Is(err, errWire) && !errors.Is(err, ErrDamaged)) {
		t.Errorf("write %d: error %v, want its cause", write, err)
	}
	if !k.did && err != nil {
		t.Errorf("without a cut: %v", err)
	}
	if b, err := os.ReadFile(pid); err == nil {
		if id, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && syscall.Kill(id, 0) == nil {
			t.Errorf("write %d: the program is left", write)
		}
	}
	for late := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			all := make([]byte, 1<<16)
			t.Fatalf("write %d: %d goroutines, and %d before:\n%s", write, runtime.NumGoroutine(), goroutines, all[:runtime.Stack(all, true)])
		}
	}
	return k.did
}
