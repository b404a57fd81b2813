package targettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/target"
)

// Concurrent programs get their arguments and input; output of any size and the exit status arrive.
func programs(t *testing.T, s subject) {
	if got := s.node().Name(); got != s.name {
		t.Errorf("the node is called %q", got)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, c := range []struct {
		script, in, out, err string
		status               int
	}{
		{`echo out; echo "$0" >&2`, "", "out\n", "an argument\n", 0},
		{"tr a-z A-Z", strings.Repeat("abc\n", 50000), strings.Repeat("ABC\n", 50000), "", 0}, // exceeds a pipe's capacity
		{"exit 7", "unread", "", "", 7},
		{"kill -9 $$", "", "", "", -1},
		{"exit 7", silence, "", "", 7},
	} {
		wg.Go(func() {
			var out, stderr bytes.Buffer
			cmd := target.Cmd{Argv: []string{"sh", "-c", c.script, "an argument"}, Stdout: &out, Stderr: &stderr}
			switch c.in {
			case "":
			case silence:
				in, w := io.Pipe()
				defer w.Close()
				cmd.Stdin = in
			default:
				cmd.Stdin = strings.NewReader(c.in)
			}
			err := s.node().Run(t.Context(), cmd)
			var exit interface{ ExitCode() int }
			switch {
			case c.status == 0 && err != nil:
				t.Errorf("%s: %v", c.script, err)
			case c.status != 0 && (!errors.As(err, &exit) || exit.ExitCode() != c.status || !strings.Contains(err.Error(), s.name)):
				t.Errorf("%s: %v, want status %d and the name of the node", c.script, err, c.status)
			}
			if out.String() != c.out || stderr.String() != c.err {
				t.Errorf("%s: printed %.20q and %.20q, want %.20q and %.20q", c.script, &out, &stderr, c.out, c.err)
			}
		})
	}
}

// silence is standard input that says nothing and does not end before the program.
const silence = "silence"

// Arguments can have any byte but 0, and are not changed.
func arguments(t *testing.T, s subject) {
	var every []byte
	for b := 1; b < 256; b++ {
		every = append(every, byte(b))
	}
	want := []string{string(every), "", " ", "'", `"$(exit 7)" \`, "\n", "-n", "ü\xff"}
	var out bytes.Buffer
	err := s.node().Run(t.Context(), target.Cmd{Argv: append([]string{"printf", "%s\\000"}, want...), Env: []string{"WORD=" + string(every)}, Stdout: &out})
	if got := strings.Split(out.String(), "\x00"); err != nil || !slices.Equal(got, append(want, "")) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	out.Reset()
	err = s.node().Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", `printf %s "$WORD"`}, Env: []string{"WORD=" + string(every)}, Stdout: &out})
	if err != nil || !bytes.Equal(out.Bytes(), every) {
		t.Errorf("the environment has %q, %v, want %q", &out, err, every)
	}
}

// Output of two programs at once arrives whole, however large.
func volume(t *testing.T, s subject) {
	const size = 16 << 20
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, seed := range []byte{1, 2} {
		wg.Go(func() {
			want := make([]byte, size)
			rand.NewChaCha8([32]byte{seed}).Read(want)
			var out bytes.Buffer
			if err := s.node().Run(t.Context(), target.Cmd{Argv: []string{"cat"}, Stdin: bytes.NewReader(want), Stdout: &out}); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(out.Bytes(), want) {
				t.Errorf("%d bytes arrived of %d, or others", out.Len(), size)
			}
		})
	}
}

func missing(t *testing.T, s subject) {
	if err := s.node().Run(t.Context(), target.Cmd{Argv: []string{"no-such-program"}}); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("error %v", err)
	}
}

func environment(t *testing.T, s subject) {
	var out bytes.Buffer
	err := s.node().Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", `echo "$SECRET ${PATH:+path}"`}, Env: []string{"SECRET=word"}, Stdout: &out})
	if err != nil || out.String() != "word path\n" {
		t.Errorf("%q, %v: want the command's environment and the node's", &out, err)
	}
}

func cpus(t *testing.T, s subject) {
	all := s.node().CPUs()
	if len(all) == 0 { // the node cannot choose
		if err := s.node().Run(t.Context(), target.Cmd{Argv: []string{"true"}, CPUs: []int{0}}); err == nil {
			t.Error("a program was pinned to a processor that nobody has")
		}
		return
	}
	var out bytes.Buffer
	last := all[len(all)-1:]
	err := s.node().Run(t.Context(), target.Cmd{Argv: []string{"grep", "Cpus_allowed_list", "/proc/self/status"}, CPUs: last, Stdout: &out})
	if want := fmt.Sprintf("Cpus_allowed_list:\t%d\n", last[0]); err != nil || out.String() != want {
		t.Errorf("%q, %v, want %q", &out, err, want)
	}
}

// A canceled program gets SIGTERM, then SIGKILL. Run returns the cause unless it succeeded.
func cancel(t *testing.T, s subject) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, c := range []struct {
		script string
		well   bool
	}{
		{"trap 'exit 3' TERM; echo ready; sleep 1000 & wait", false},
		{"trap 'exit 0' TERM; echo ready; sleep 1000 & wait", true},
		{"trap '' TERM; echo ready; while true; do sleep 1000; done", false},
	} {
		all.Go(func() {
			why := errors.New("enough")
			ctx, stop := context.WithCancelCause(t.Context())
			begin := time.Now()
			err := s.node().Run(ctx, target.Cmd{Argv: []string{"sh", "-c", c.script}, Stdout: hearing("ready", func() { stop(why) })})
			if c.well != (err == nil) || !c.well && !errors.Is(err, why) {
				t.Errorf("%s: %v", c.script, err)
			}
			if took := time.Since(begin); took > patience {
				t.Errorf("%s: took %v to end", c.script, took)
			}
			if err := s.node().Run(ctx, target.Cmd{Argv: []string{"true"}}); !errors.Is(err, why) {
				t.Errorf("after its context ended, a program was run: %v", err)
			}
		})
	}
}

// hearing calls f once, when a line has been written.
func hearing(line string, f func()) io.Writer {
	var once sync.Once
	return writer(func(b []byte) {
		if bytes.Contains(b, []byte(line)) {
			once.Do(f)
		}
	})
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

// All descendants of a program end with it.
func leaves(t *testing.T, s subject) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, script := range []string{"sleep 1000 & echo $!", "setsid sleep 1000 & echo $!"} {
		wg.Go(func() {
			pid, err := s.sh(t, script)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.sh(t, "test -d /proc/"+strings.TrimSpace(pid)); err == nil {
				t.Errorf("%s: process %s is left", script, strings.TrimSpace(pid))
			}
		})
	}
}
