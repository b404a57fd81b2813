package vm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/weir-bench/weir/internal/target"
)

// connected returns a node whose guest is this process: its agent runs programs
// here. What ends the connection is returned, too.
func connected(t *testing.T) (*Node, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- newAgent(&sender{enc: json.NewEncoder(theirs)}).serve(json.NewDecoder(theirs)) }()
	t.Cleanup(func() {
		ours.Close()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "the host is gone") && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the agent ended with %v", err)
		}
		// What programs left becomes a child of process 1, which this is. If the agent
		// has not ended it, this waits for ever.
		for {
			if _, err := syscall.Wait4(-1, nil, 0, nil); errors.Is(err, syscall.ECHILD) {
				break
			}
		}
	})
	return &Node{name: "g", conn: ours, client: newClient(ours, json.NewDecoder(ours))}, theirs
}

// said is a program's output, with what is done at its first write.
type said struct {
	bytes.Buffer
	once sync.Once
	do   func()
}

func (s *said) Write(b []byte) (int, error) {
	s.Buffer.Write(b)
	if s.do != nil {
		s.once.Do(s.do)
	}
	return len(b), nil
}

func TestPrograms(t *testing.T) {
	n, _ := connected(t)
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, c := range []struct{ script, in, out, err, fail string }{
		{"echo out; echo err >&2", "", "out\n", "err\n", ""},
		{"tr a-z A-Z", strings.Repeat("abc\n", 50000), strings.Repeat("ABC\n", 50000), "", ""},
		{"exit 7", "unread", "", "", "g: " + shell(t) + ": exit status 7"},
		{"kill -9 $$", "", "", "", "g: " + shell(t) + ": signal: killed"},
		{"sleep 1000 & echo out", "", "out\n", "", ""}, // what it left is ended
	} {
		wg.Go(func() {
			var out, stderr said
			cmd := target.Cmd{Argv: []string{shell(t), "-c", c.script}, Stdout: &out, Stderr: &stderr}
			if c.in != "" {
				cmd.Stdin = strings.NewReader(c.in)
			}
			err := n.Run(t.Context(), cmd)
			if (err == nil) != (c.fail == "") || err != nil && err.Error() != c.fail {
				t.Errorf("%s: error %v, want %q", c.script, err, c.fail)
			}
			if out.String() != c.out || stderr.String() != c.err {
				t.Errorf("%s: said %.20q and %.20q, want %.20q and %.20q", c.script, &out, &stderr, c.out, c.err)
			}
		})
	}
}

func shell(t *testing.T) string {
	t.Helper()
	const sh = "/bin/sh"
	if _, err := os.Stat(sh); err != nil {
		t.Skip(err)
	}
	return sh
}

// How a program ended can be read as that of exec.Cmd.
func TestExitStatus(t *testing.T) {
	n, _ := connected(t)
	err := n.Run(t.Context(), target.Cmd{Argv: []string{shell(t), "-c", "exit 7"}})
	var exit interface{ ExitCode() int }
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("error %v", err)
	}
	if err := n.Run(t.Context(), target.Cmd{Argv: []string{"no-such-program"}}); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("error %v", err)
	}
	if err := n.Run(t.Context(), target.Cmd{Argv: []string{"x"}, CPUs: []int{1}}); err == nil || !strings.Contains(err.Error(), "given no CPUs") {
		t.Errorf("error %v", err)
	}
}

// A program that is cancelled gets a signal, and SIGKILL if that is not enough,
// with all that it started.
func TestCancelled(t *testing.T) {
	for name, script := range map[string]string{
		"ends":    "trap 'exit 3' TERM; echo ready; sleep 1000 & wait",
		"ignores": "trap '' TERM; echo ready; while true; do sleep 1000; done",
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := connected(t)
			why := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			out := &said{do: func() { cancel(why) }}
			if err := n.Run(ctx, target.Cmd{Argv: []string{shell(t), "-c", script}, Stdout: out}); !errors.Is(err, why) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Whoever hears a program may read a file meanwhile: counters are read when an
// engine says that its window begins.
func TestReadWhileListening(t *testing.T) {
	n, _ := connected(t)
	dir := t.TempDir()
	for name, content := range map[string]string{"full": "counters\n", "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []byte
		var err error
		out := &said{do: func() { got, err = fs.ReadFile(n.FS(), filepath.Join(dir, name)[1:]) }}
		if err := n.Run(t.Context(), target.Cmd{Argv: []string{shell(t), "-c", "seq 1000"}, Stdout: out}); err != nil {
			t.Fatal(err)
		}
		if err != nil || string(got) != content {
			t.Errorf("%s: %q, %v, want %q", name, got, err, content)
		}
	}
	if _, err := fs.ReadFile(n.FS(), filepath.Join(dir, "none")[1:]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := n.FS().Open("/abs"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a path with a first slash: %v", err)
	}
}

// A guest that is gone is an error for all who wait, and all who come later.
func TestGone(t *testing.T) {
	n, theirs := connected(t)
	out := &said{do: func() { theirs.Close() }}
	stdin, silent := io.Pipe()
	defer silent.Close()
	err := n.Run(t.Context(), target.Cmd{Argv: []string{shell(t), "-c", "echo ready; read never"}, Stdout: out, Stdin: stdin})
	if !errors.Is(err, errGone) {
		t.Errorf("error %v, want %v", err, errGone)
	}
	if _, err := fs.ReadFile(n.FS(), "proc/version"); !errors.Is(err, errGone) {
		t.Errorf("error %v, want %v", err, errGone)
	}
}

// Whatever a guest says, whoever waits for it gets an end.
func FuzzClient(f *testing.F) {
	f.Add([]byte(`{"id":1,"out":"b3V0"}` + "\n" + `{"id":1,"exit":0}` + "\n" + `{"id":2,"file":"eA==","done":true}`))
	f.Add([]byte(`{"id":1,"failed":"no","errno":2}{"id":2,"failed":"no"}`))
	f.Add([]byte(`{"id":1,"exit":-1}{"id":9}{"ready":true}`))
	f.Add([]byte(`{"id":"1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		said, start := io.Pipe()
		c := newClient(io.Discard, json.NewDecoder(said))
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if _, err := c.run(t.Context(), Command{Argv: []string{"x"}}, nil, io.Discard, nil, patience); err != nil && err.Error() == "" {
					t.Error("an error without words")
				}
			})
			wg.Go(func() {
				if b, err := c.read("x"); err != nil && b != nil {
					t.Errorf("both %q and %v", b, err)
				}
			})
		}
		go func() {
			_, _ = start.Write(b) // as far as it is understood
			start.Close()
		}()
		wg.Wait()
		said.Close()
	})
}
