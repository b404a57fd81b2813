// Package session keeps a topology up: one process holds the nodes and runs programs in them for
// clients of its socket.
//
// Only the socket file's owner can reach it; nothing listens on a network. The package must not
// build or change a network.
package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/target"
)

// A request is a client's first line, with its standard streams attached (SCM_RIGHTS, unix(7)).
type request struct {
	Node string   `json:"node,omitempty"`
	Argv []string `json:"argv,omitempty"` // empty: only list the nodes
	Down bool     `json:"down,omitempty"` // end the topology
}

// A reply is the one-line answer.
type reply struct {
	Error string   `json:"error,omitempty"`
	Exit  int      `json:"exit"`
	Nodes []string `json:"nodes,omitempty"`
}

var nameOK = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$`)

// Socket returns a topology's socket path, in a directory that only this user can enter.
func Socket(name string) (string, error) {
	if !nameOK.MatchString(name) {
		return "", fmt.Errorf("%w %q: use 1 to 64 letters, digits, '.', '_' and '-'", ErrName, name)
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("weir-%d", os.Getuid()))
	if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
		dir = filepath.Join(run, "weir")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s is not a directory that only you can enter: remove it, or set XDG_RUNTIME_DIR", dir)
	}
	return filepath.Join(dir, name+".sock"), nil
}

// errEnded is the error for a program whose topology ends first.
var errEnded = errors.New("the topology ended")

// Serve answers requests until ctx ends or a request ends the topology, and then ends running
// programs. It replaces the socket of a killed process; if the socket answers, the error is ErrUp.
func Serve(ctx context.Context, socket string, nodes map[string]target.Node) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if _, err := Nodes(socket); err == nil {
		return ErrUp
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"}) // Close removes the file
	if err != nil {
		return err
	}
	defer l.Close()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		wg.Go(func() {
			defer c.Close()
			// Do not wait for clients that have sent no request.
			stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })
			defer stop()
			answer(ctx, c, nodes, func() {
				cancel(errEnded)
				l.Close() // before the answer, to free the name
			})
		})
	}
}

// answer serves one client. down ends the topology.
func answer(ctx context.Context, c *net.UnixConn, nodes map[string]target.Node, down func()) {
	var rep reply
	defer func() { _ = json.NewEncoder(c).Encode(rep) }() // a disconnected client needs no answer
	req, files, err := receive(c)
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	switch {
	case err != nil:
		rep.Error = err.Error()
	case req.Down:
		down()
	case len(req.Argv) == 0:
		rep.Nodes = names(nodes)
	case nodes[req.Node] == nil:
		rep.Error = fmt.Sprintf("unknown node %q: want one of %s", req.Node, strings.Join(names(nodes), ", "))
	case len(files) != 3:
		rep.Error = fmt.Sprintf("the request came with %d files, want 3", len(files))
	default:
		// The client sends nothing more. A disconnect ends its program.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			_, _ = c.Read(make([]byte, 1))
			cancel()
		}()
		err := nodes[req.Node].Run(ctx, target.Cmd{Argv: req.Argv, Stdin: files[0], Stdout: files[1], Stderr: files[2]})
		var state interface {
			ExitCode() int
			Sys() any
		}
		switch {
		case errors.As(err, &state):
			rep.Exit = state.ExitCode()
			if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
				rep.Exit = 128 + int(ws.Signal()) // like a shell
			}
		case err != nil:
			rep.Error = err.Error()
		}
	}
}

func names(nodes map[string]target.Node) []string { return slices.Sorted(maps.Keys(nodes)) }

// maxRequest, bytes, exceeds any typed command line. The kernel's limit for a message is higher.
const maxRequest = 128 << 10

func receive(c *net.UnixConn) (req request, files []*os.File, err error) {
	buf, oob := make([]byte, maxRequest), make([]byte, syscall.CmsgSpace(3*4))
	n, on, _, _, err := c.ReadMsgUnix(buf, oob)
	if err != nil {
		return req, nil, err
	}
	msgs, err := syscall.ParseSocketControlMessage(oob[:on])
	if err != nil {
		return req, nil, err
	}
	for _, m := range msgs {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			return req, files, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "client"))
		}
	}
	return req, files, json.Unmarshal(buf[:n], &req)
}

// ErrDown: no such topology is up. ErrUp: one already is. ErrName: the name is invalid.
var (
	ErrDown = errors.New("no topology of this name is up")
	ErrUp   = errors.New("a topology of this name is up")
	ErrName = errors.New("topology name")
)

func ask(socket string, req request, files []*os.File) (rep reply, err error) {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return rep, fmt.Errorf("%w: %w", ErrDown, err)
	}
	defer c.Close()
	b, err := json.Marshal(req)
	if err != nil {
		return rep, err
	}
	if len(b) > maxRequest {
		return rep, fmt.Errorf("the command line has %d bytes: want at most %d", len(b), maxRequest)
	}
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	if _, _, err := c.WriteMsgUnix(b, syscall.UnixRights(fds...), nil); err != nil {
		return rep, err
	}
	if err := json.NewDecoder(bufio.NewReader(c)).Decode(&rep); err != nil {
		return rep, fmt.Errorf("the topology ended: %w", err)
	}
	if rep.Error != "" {
		return rep, errors.New(rep.Error)
	}
	return rep, nil
}

// Nodes lists the nodes of the topology behind socket.
func Nodes(socket string) ([]string, error) {
	rep, err := ask(socket, request{}, nil)
	return rep.Nodes, err
}

// Exec runs argv on a node with this process's standard streams and returns its exit status.
func Exec(socket, node string, argv []string) (int, error) {
	rep, err := ask(socket, request{Node: node, Argv: argv}, []*os.File{os.Stdin, os.Stdout, os.Stderr})
	return rep.Exit, err
}

// Down ends the topology and returns when its processes are gone.
func Down(socket string) error {
	if _, err := ask(socket, request{Down: true}, nil); err != nil {
		return err
	}
	lock, err := openLock(socket)
	if err != nil {
		return err
	}
	defer lock.Close()
	for {
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
