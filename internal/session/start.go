package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// openLock opens the file that a session's first process keeps locked throughout its life.
func openLock(socket string) (*os.File, error) {
	return os.OpenFile(socket+".lock", os.O_RDWR|os.O_CREATE, 0o600)
}

// ending bounds the end of a session that no longer answers.
const ending = 5 * time.Second

// lock locks the name of socket. The error is ErrUp when a topology has it.
func lock(ctx context.Context, socket string) (*os.File, error) {
	f, err := openLock(socket)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, ending, fmt.Errorf("%w, or is coming up, or does not end", ErrUp))
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if _, up := Nodes(socket); up == nil {
			err = ErrUp
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		}
	}
}

// Start runs this program with args, detached from the terminal, and returns the nodes once it
// serves the socket. If it ends earlier, the error is its output.
func Start(ctx context.Context, socket string, args []string) ([]string, error) {
	name, err := lock(ctx, socket)
	if err != nil {
		return nil, err
	}
	defer name.Close() // the session's process has a copy
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.ExtraFiles = []*os.File{name}
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		msg, _ := io.ReadAll(said)
		err := cmd.Wait()
		if msg = bytes.TrimPrefix(bytes.TrimSpace(msg), []byte("weir: ")); len(msg) > 0 {
			err = errors.New(string(msg))
		}
		ended <- err
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if nodes, err := Nodes(socket); err == nil {
			return nodes, nil
		}
		select {
		case <-tick.C:
		case err := <-ended:
			return nil, fmt.Errorf("the topology ended before it was up: %w", err)
		case <-ctx.Done():
			_ = cmd.Process.Signal(syscall.SIGTERM) // waited for below
			<-ended
			return nil, context.Cause(ctx)
		}
	}
}
