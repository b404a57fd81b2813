// Package session keeps a topology up: one process holds the nodes and runs programs in them for
// clients of its socket.
//
// Only the socket file's owner can reach it; nothing listens on a network. The package must not
// build or change a network.
package session

import (
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

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/target"
)

// A request is a client's first line, with its standard streams attached (SCM_RIGHTS, unix(7)).
type request struct {
	Node string   `json:"node,omitempty"`
	Argv []string `json:"argv,omitempty"` // empty: only list the nodes
	Dir  string   `json:"dir,omitempty"`  // the client's
	Env  []string `json:"env,omitempty"`  // the client's
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
	var errs []error
	for _, dir := range places() {
		err := private(dir)
		if err == nil {
			return filepath.Join(dir, name+".sock"), nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// places lists where sockets can be, the best first. In the directory for temporary files, which comes last,
// every user can take the name first.
func places() []string {
	if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
		return []string{filepath.Join(run, "weir")}
	}
	uid := os.Getuid()
	dirs := []string{filepath.Join(os.TempDir(), fmt.Sprintf("weir-%d", uid))}
	if uid == 0 {
		return append([]string{"/run/weir-labs"}, dirs...)
	}
	return dirs
}

// private makes a directory that only this user can enter, unless it is there.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a directory that only you can enter: remove it, or set XDG_RUNTIME_DIR", dir)
	}
	return nil
}

// errEnded is the error for a program whose topology ends first.
var errEnded = errors.New("the topology ended")

// errUnreachable ends a topology whose socket is gone, as when the user's runtime directory is removed at
// logout: nobody could end it anymore.
var errUnreachable = errors.New("its socket was removed")

// watchEvery is how often a topology looks for its socket.
const watchEvery = time.Second

func watch(ctx context.Context, socket string, end context.CancelCauseFunc) {
	mine, err := os.Lstat(socket)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var now os.FileInfo
		if now, err = os.Lstat(socket); err == nil && !os.SameFile(mine, now) {
			break
		}
	}
	end(errUnreachable)
}

// Serve answers requests until ctx ends or a request ends the topology, and then ends running
// programs. It replaces the socket of a killed process; if the socket answers, the error is ErrUp.
func Serve(ctx context.Context, socket string, nodes map[string]target.Node) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := free(socket); err != nil {
		return err
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
	wg.Go(func() { watch(ctx, socket, cancel) })
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			cancel(err)
			return err
		}
		wg.Go(func() {
			defer c.Close()
			// Do not wait for clients that have sent no request.
			stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })
			defer stop()
			down := func() {
				cancel(errEnded)
				l.Close() // before the answer, to free the name
			}
			if err := caught.Error(func() error { answer(ctx, c, nodes, down); return nil }); err != nil {
				cancel(err)
			}
		})
	}
}

// answer serves one client. down ends the topology.
func answer(ctx context.Context, c *net.UnixConn, nodes map[string]target.Node, down func()) {
	var rep reply
	defer func() { _ = json.NewEncoder(c).Encode(rep) }() // a disconnected client needs no answer
	_ = c.SetReadDeadline(time.Now().Add(hearing))        // a socket has deadlines
	req, files, err := receive(c)
	_ = c.SetReadDeadline(time.Time{})
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
		err := nodes[req.Node].Run(ctx, target.Cmd{Argv: req.Argv, Dir: req.Dir, Env: req.Env, Stdin: files[0], Stdout: files[1], Stderr: files[2]})
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
