package session

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/facts"
)

const (
	// maxRequest, bytes, exceeds any typed command line with its environment (ARG_MAX is 2 MiB).
	maxRequest = 4 << 20
	// hearing bounds the wait for a request, or for an answer that needs no program.
	hearing = 3 * time.Second
	// downTime bounds the end of a topology: its daemons have 10 s to undo what they did.
	downTime = 30 * time.Second
)

// receive reads a client's request, a line, and the files that came with its first bytes.
func receive(c *net.UnixConn) (req request, files []*os.File, err error) {
	buf, oob := make([]byte, 64<<10), make([]byte, syscall.CmsgSpace(3*4))
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
	line, rest := buf[:n], bufio.NewReader(io.LimitReader(c, maxRequest))
	if !bytes.HasSuffix(line, []byte("\n")) {
		more, _ := rest.ReadBytes('\n') // what is missing shows below
		line = append(line, more...)
	}
	return req, files, json.Unmarshal(line, &req)
}

// ErrDown: no such topology is up. ErrUp: one already is. ErrName: the name is invalid. ErrSilent: its process
// does not answer.
var (
	ErrDown   = errors.New("no topology of this name is up")
	ErrUp     = errors.New("a topology of this name is up")
	ErrName   = errors.New("topology name")
	ErrSilent = errors.New("the topology does not answer")
)

// ask sends a request and waits for the reply: for a program as long as it runs, otherwise for a bounded time.
func ask(socket string, req request, files []*os.File) (rep reply, err error) {
	b, err := json.Marshal(req)
	if err != nil {
		return rep, err
	}
	if len(b) >= maxRequest {
		return rep, fmt.Errorf("the command line and the environment have %d bytes: want less than %d", len(b), maxRequest)
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	switch {
	case errors.Is(err, syscall.EAGAIN): // too many clients wait for it already
		return rep, fmt.Errorf("%w: it is stopped, or overloaded", ErrSilent)
	case err != nil:
		return rep, fmt.Errorf("%w: %w", ErrDown, err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(hearing)) // a socket has deadlines
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	b = append(b, '\n')
	n, _, err := c.WriteMsgUnix(b, syscall.UnixRights(fds...), nil)
	if err == nil && n < len(b) {
		_, err = c.Write(b[n:])
	}
	if len(req.Argv) > 0 {
		_ = c.SetDeadline(time.Time{})
	}
	if err == nil {
		err = json.NewDecoder(bufio.NewReader(c)).Decode(&rep)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return rep, silent(c)
	case err != nil:
		return rep, fmt.Errorf("the topology ended: %w", err)
	case rep.Error != "":
		return rep, errors.New(rep.Error)
	}
	return rep, nil
}

// silent says which process does not answer, and what its user can do.
func silent(c *net.UnixConn) error {
	pid := 0
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
				pid = int(cred.Pid)
			}
		})
	}
	if pid == 0 {
		return fmt.Errorf("%w within %v", ErrSilent, hearing)
	}
	return fmt.Errorf("%w within %v: its process %d is stopped, or the machine overloaded; continue it with kill -CONT %d, or end all of it with kill -KILL %d", ErrSilent, hearing, pid, pid, pid)
}

// Nodes lists the nodes of the topology behind socket.
func Nodes(socket string) ([]string, error) {
	rep, err := ask(socket, request{}, nil)
	return rep.Nodes, err
}

// Exec runs argv on a node with this process's standard streams, directory and environment, and returns its
// exit status.
func Exec(socket, node string, argv []string) (int, error) {
	if _, err := Nodes(socket); err != nil { // in bounded time, unlike a program
		return 0, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	program := argv[0]
	switch own := strings.Contains(program, "/"); {
	case own && !filepath.IsAbs(program):
		program = filepath.Join(dir, program)
	case !own && program != "weir": // by the caller's PATH: the topology's process can have another
		program = cmp.Or(facts.Find(program), program)
	}
	argv = append([]string{program}, argv[1:]...)
	rep, err := ask(socket, request{Node: node, Argv: argv, Dir: dir, Env: os.Environ()}, []*os.File{os.Stdin, os.Stdout, os.Stderr})
	return rep.Exit, err
}

// Down ends the topology and returns when its processes are gone.
func Down(ctx context.Context, socket string) error {
	if _, err := ask(socket, request{Down: true}, nil); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, downTime, fmt.Errorf("the topology is still ending after %v; try again later", downTime))
	defer cancel()
	lock, err := lock(ctx, socket, func() error { return nil })
	if err != nil {
		return err
	}
	return errors.Join(os.Remove(lock.Name()), lock.Close()) // in this order: whoever waits for the lock opens a new file
}
