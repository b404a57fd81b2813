package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/target"
)

// patience bounds steps that are not stuck.
const patience = 20 * time.Second

type node struct {
	target.Node
	run func(ctx context.Context, c target.Cmd) error
}

func (n node) Run(ctx context.Context, c target.Cmd) error { return n.run(ctx, c) }

func runs(f func(context.Context, target.Cmd) error) nodeMap {
	return nodeMap{"a": node{run: f}, "b": node{run: f}}
}

type nodeMap = map[string]target.Node

// serve keeps nodes up behind a socket until the test ends. Serve's error goes to ended.
func serve(t *testing.T, nodes nodeMap) (socket string, ended chan error) {
	t.Helper()
	socket, ended = filepath.Join(t.TempDir(), "s"), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- Serve(ctx, socket, nodes) }()
	for {
		if _, err := Nodes(socket); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	t.Cleanup(func() {
		cancel()
		if err := wait(t, ended); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is left: %v", err)
		}
	})
	return socket, ended
}

func wait[T any](t *testing.T, c chan T) T {
	t.Helper()
	select {
	case v := <-c:
		c <- v
		return v
	case <-time.After(patience):
		t.Fatal("stuck")
		panic("unreachable")
	}
}

func TestExec(t *testing.T) {
	socket, _ := serve(t, runs(func(_ context.Context, c target.Cmd) error {
		switch {
		case c.Argv[0] == "fail":
			return errors.New("no such program")
		case c.Stdin == nil || c.Stdout == nil || c.Stderr == nil:
			return errors.New("a file is missing")
		}
		return fmt.Errorf("a: %w", exec.Command(c.Argv[0], c.Argv[1:]...).Run())
	}))
	if nodes, err := Nodes(socket); err != nil || !slices.Equal(nodes, []string{"a", "b"}) {
		t.Errorf("nodes %v, %v", nodes, err)
	}
	for _, c := range []struct {
		node, argv0, script string
		status              int
		want                string // substring of the error
	}{
		{"a", "sh", "exit 7", 7, ""},
		{"b", "sh", "kill -9 $$", 128 + 9, ""}, // like a shell: -1 would become 255
		{"a", "fail", "", 0, "no such program"},
		{"c", "sh", "", 0, `unknown node "c": want one of a, b`},
	} {
		status, err := Exec(socket, c.node, []string{c.argv0, "-c", c.script})
		if status != c.status || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: status %d, error %v", c, status, err)
		}
	}
	if _, err := Exec(socket, "a", []string{strings.Repeat("x", maxRequest)}); err == nil || !strings.Contains(err.Error(), "want less than") {
		t.Errorf("a command line that is too long: %v", err)
	}
}

// A program ends with its topology, and its user gets the reason.
func TestDownEndsPrograms(t *testing.T) {
	started, cause := make(chan bool, 1), make(chan error, 1)
	socket, ended := serve(t, runs(func(ctx context.Context, _ target.Cmd) error {
		started <- true
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return context.Cause(ctx)
	}))
	told := make(chan error, 1)
	go func() {
		_, err := Exec(socket, "a", []string{"sleep"})
		told <- err
	}()
	wait(t, started)
	if err := Down(t.Context(), socket); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Down returned while the name was taken: %v", err)
	}
	wait(t, cause)
	if err := wait(t, told); err == nil || err.Error() != errEnded.Error() {
		t.Errorf("the user was told %v, want %v", err, errEnded)
	}
	if err := wait(t, ended); err != nil {
		t.Error(err)
	}
	if err := Down(t.Context(), socket); !errors.Is(err, ErrDown) {
		t.Errorf("the second Down: %v", err)
	}
}

// A client's program ends when the client disconnects.
func TestClientGone(t *testing.T) {
	started, ended := make(chan bool, 1), make(chan bool, 1)
	socket, _ := serve(t, runs(func(ctx context.Context, _ target.Cmd) error {
		started <- true
		<-ctx.Done()
		ended <- true
		return context.Cause(ctx)
	}))
	c := dial(t, socket)
	if _, _, err := c.WriteMsgUnix([]byte(`{"node":"a","argv":["sleep"]}`+"\n"), syscall.UnixRights(0, 1, 2), nil); err != nil {
		t.Fatal(err)
	}
	wait(t, started)
	c.Close()
	wait(t, ended)
}

func dial(t *testing.T, socket string) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Invalid requests get an answer, and a silent client does not delay the topology's end.
func TestOddClients(t *testing.T) {
	socket, _ := serve(t, runs(func(context.Context, target.Cmd) error { return nil }))
	silent := dial(t, socket)
	defer silent.Close()
	for _, c := range []struct{ send, want string }{
		{"junk", "invalid character"},
		{`{"node":"a","argv":["x"]}`, "the request came with 0 files, want 3"},
		{"{", "unexpected end"},
	} {
		odd := dial(t, socket)
		if _, err := odd.Write([]byte(c.send + "\n")); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1000)
		n, err := odd.Read(buf)
		if err != nil || !strings.Contains(string(buf[:n]), c.want) {
			t.Errorf("%s: answer %q, %v", c.send, buf[:n], err)
		}
		odd.Close()
	}
	before := descriptors(t)
	for range 20 { // files attached to nonsense are closed
		odd := dial(t, socket)
		if _, _, err := odd.WriteMsgUnix([]byte("junk\n"), syscall.UnixRights(0, 1, 2), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := odd.Read(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		odd.Close()
	}
	deadline := time.Now().Add(patience)
	for descriptors(t) > before { // the server closes its side asynchronously
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors, there were %d", descriptors(t), before)
		}
		time.Sleep(time.Millisecond)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}

// A killed process's socket is replaced, a live one's is not.
func TestSocketInTheWay(t *testing.T) {
	socket, _ := serve(t, runs(nil))
	if err := Serve(t.Context(), socket, nil); !errors.Is(err, ErrUp) {
		t.Errorf("a second one: %v", err)
	}
	stale := filepath.Join(t.TempDir(), "stale")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := Nodes(stale); !errors.Is(err, ErrDown) {
		t.Errorf("nobody listens: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, stale, runs(nil)) }()
	deadline := time.Now().Add(patience)
	for {
		if _, err := Nodes(stale); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := wait(t, ended); err != nil {
		t.Error(err)
	}
}

// Of two concurrent starts of one name, one succeeds.
func TestLock(t *testing.T) {
	socket, _ := serve(t, runs(nil))
	if _, err := claim(t.Context(), socket); !errors.Is(err, ErrUp) {
		t.Errorf("up: %v", err)
	}
	other := filepath.Join(t.TempDir(), "other")
	first, err := claim(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	if _, err := claim(ctx, other); !errors.Is(err, why) {
		t.Errorf("taken and not up yet: %v", err)
	}
	// Down removes the file before it releases it: the next one must lock the new file.
	time.AfterFunc(50*time.Millisecond, func() { os.Remove(other + ".lock"); first.Close() })
	again, err := claim(t.Context(), other)
	if err != nil {
		t.Fatalf("free after a while: %v", err)
	}
	if !same(again) {
		t.Error("the lock is on a file that has no name any more")
	}
	again.Close()
}

func TestSocketName(t *testing.T) {
	run := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", run)
	if s, err := Socket("lab"); err != nil || s != filepath.Join(run, "weir", "lab.sock") {
		t.Errorf("%s, %v", s, err)
	}
	for _, name := range []string{"", "../lab", "a/b", ".lab", "-lab", "a b", strings.Repeat("a", 65), "läb"} {
		if s, err := Socket(name); !errors.Is(err, ErrName) {
			t.Errorf("%q is a name: %s, %v", name, s, err)
		}
	}
	// Others could plant a socket in a directory that they can write to.
	if err := os.Chmod(filepath.Join(run, "weir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if s, err := Socket("lab"); err == nil || !strings.Contains(err.Error(), "set XDG_RUNTIME_DIR") {
		t.Errorf("a directory that others can enter: %s, %v", s, err)
	}
	link := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", link)
	if err := os.Symlink(t.TempDir(), filepath.Join(link, "weir")); err != nil {
		t.Fatal(err)
	}
	if s, err := Socket("lab"); err == nil {
		t.Errorf("a symbolic link: %s", s)
	}
}
