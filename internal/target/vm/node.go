package vm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/target"
)

var _ target.Node = (*Node)(nil)

// A Node is a guest as a place where programs run.
type Node struct {
	// About is what the guest is, by the name under which results hold it.
	About map[string]string

	name string
	conn net.Conn
	*client
}

// Connect reaches the guest called name through the socket of ServePod and
// returns when it takes orders.
func Connect(ctx context.Context, name, socket string) (*Node, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("guest %s: %w", name, err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	lines := json.NewDecoder(conn)
	m, err := next(lines)
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if err == nil && !m.Ready {
		err = errors.New(m.Failed)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("guest %s: %w", name, err)
	}
	return &Node{m.About, name, conn, newClient(conn, lines)}, nil
}

// Close ends the guest.
func (n *Node) Close() error { return n.conn.Close() }

// Name is that of the pod that the guest is.
func (n *Node) Name() string { return n.name }

// patience is how long a program may take to end after SIGTERM.
const patience = 2 * time.Second

// Run runs c in the guest.
func (n *Node) Run(ctx context.Context, c target.Cmd) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(c.CPUs) > 0 {
		return fmt.Errorf("%s: %s: programs in a guest are given no CPUs, and not %v", n.name, c.Argv[0], c.CPUs)
	}
	argv := slices.Clone(c.Argv)
	if path := facts.Find(argv[0]); path != "" && argv[0] != "weir" { // the guest has the host's files
		argv[0] = path
	}
	status, err := n.run(ctx, Command{Argv: argv, Env: os.Environ(), Dir: "/"}, c.Stdin, c.Stdout, c.Stderr, patience)
	switch {
	case err == nil && status == 0:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		err = ended(status)
	}
	return fmt.Errorf("%s: %s: %w", n.name, c.Argv[0], err)
}

// ended is how a program ended that did not end well, as exec.ExitError tells it.
type ended syscall.WaitStatus

func (e ended) Error() string {
	if ws := syscall.WaitStatus(e); ws.Signaled() {
		return "signal: " + ws.Signal().String()
	}
	return fmt.Sprintf("exit status %d", e.ExitCode())
}

func (e ended) ExitCode() int { return syscall.WaitStatus(e).ExitStatus() }
func (e ended) Sys() any      { return syscall.WaitStatus(e) }

// CPUs are none that could be given: those of a guest are threads of QEMU, for
// which the host's scheduler finds a processor.
func (n *Node) CPUs() []int { return nil }

// FS is the file tree that programs of the guest see. Directories cannot be read.
func (n *Node) FS() fs.FS { return files{n.client} }

type files struct{ *client }

// Open reads the whole file, so that it is of one moment.
func (f files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	b, err := f.read(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &file{bytes.NewReader(b), path.Base(name)}, nil
}

// A file is the content of one, and its own fs.FileInfo.
type file struct {
	*bytes.Reader
	name string
}

func (f *file) Stat() (fs.FileInfo, error) { return f, nil }
func (f *file) Close() error               { return nil }
func (f *file) Name() string               { return f.name }
func (f *file) Mode() fs.FileMode          { return 0o444 }
func (f *file) ModTime() time.Time         { return time.Time{} }
func (f *file) IsDir() bool                { return false }
func (f *file) Sys() any                   { return nil }
