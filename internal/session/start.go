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
	return os.OpenFile(socket+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
}

// ending bounds the end of a session that no longer answers.
const ending = 5 * time.Second

// claim locks the name of socket for a new topology. The error is ErrUp when another one has it.
func claim(ctx context.Context, socket string) (*os.File, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, ending, fmt.Errorf("%w, or is coming up, or does not end", ErrUp))
	defer cancel()
	return lock(ctx, socket, func() error { return free(socket) })
}

// free returns an error if a topology answers at socket, or has one that does not answer.
func free(socket string) error {
	switch _, err := Nodes(socket); {
	case err == nil:
		return ErrUp
	case errors.Is(err, ErrSilent):
		return err
	}
	return nil
}

// lock waits for the lock of socket until ctx is done or free fails.
func lock(ctx context.Context, socket string, free func() error) (*os.File, error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := free(); err != nil {
			return nil, err
		}
		f, err := openLock(socket)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && same(f) {
			return f, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// same reports whether an open file still has its name: Down removes the name of a lock.
func same(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(mine, now)
}

// Start runs this program with args, detached from the terminal, and returns the nodes once it
// serves the socket. If it ends earlier, the error is its output.
func Start(ctx context.Context, socket string, args []string) ([]string, error) {
	name, err := claim(ctx, socket)
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
