package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target/agent"
)

// Serve is the body of `weir agent`: it waits for the greeting of Dial on in, answers on out, and
// serves as the agent until in ends, 30 s pass in silence, or a frame is damaged. All programs that
// it started are then gone. First of all it removes the directory remove and the file "weir" in it,
// which Script made; "" removes nothing. The error is nil when the near end has closed the
// connection.
func Serve(in io.Reader, out io.Writer, remove string) error { return serve(in, out, remove, farTimes) }

// ServeChanging is Serve on a machine where c carries out the steps of events. The near end knows which steps its user
// allows; it can run any program here in any case.
func ServeChanging(in io.Reader, out io.Writer, remove string, c Changer) error {
	return follow(in, out, remove, farTimes, func(conn io.ReadWriter) error {
		return agent.Serve(conn, func(string) (agent.Actor, error) { return watcher{c}, nil })
	})
}

// A Changer changes what the steps of events name on its machine. Close undoes what is left of that.
type Changer interface {
	Step(context.Context, plan.Step) error
	Close() error
}

func serve(in io.Reader, out io.Writer, remove string, t times) error {
	return follow(in, out, remove, t, watch)
}

// follow is Serve with the agent.
func follow(in io.Reader, out io.Writer, remove string, t times, agent func(io.ReadWriter) error) (err error) {
	if remove != "" && removeProgram(remove) != nil { // a network file system keeps the file of a running program
		defer func() { err = errors.Join(err, removeProgram(remove)) }()
	}
	return obey(in, out, t, agent)
}

// obey waits for the greeting and calls serve with what follows, until it returns.
func obey(in io.Reader, out io.Writer, t times, serve func(io.ReadWriter) error) error {
	reader := bufio.NewReader(in)
	nonce, err := greeting(reader, t.greet)
	if err != nil {
		return fmt.Errorf("wait for weir's greeting: %w; weir starts this command itself", err)
	}
	if _, err := fmt.Fprintf(out, "%s %s %d %s\n", farWord, nonce, protocol, Version); err != nil {
		return fmt.Errorf("answer the greeting: %w", err)
	}
	f := newFrames(reader, out, func() error { return nil }, t)
	defer f.Close()
	return serve(f)
}

// watch is the agent of a machine that weir only uses.
func watch(conn io.ReadWriter) error {
	return agent.Serve(conn, func(string) (agent.Actor, error) { return watcher{}, nil })
}

// removeProgram removes what Script made, or what is left of it.
func removeProgram(dir string) error {
	for _, name := range []string{filepath.Join(dir, "weir"), dir} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove this program: %w", err)
		}
	}
	return nil
}

// greeting returns the nonce of the near end. The near end compares the protocol and the version.
func greeting(in *bufio.Reader, wait time.Duration) (nonce string, err error) {
	type result struct {
		line string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := in.ReadSlice('\n') // as long as the reader's buffer at most
		read <- result{string(line), err}
	}()
	select {
	case r := <-read:
		words := strings.Fields(r.line)
		switch {
		case r.err != nil:
			return "", r.err
		case len(words) < 2 || words[0] != nearWord:
			return "", fmt.Errorf("got %.80q", r.line)
		}
		return words[1], nil
	case <-time.After(wait):
		return "", fmt.Errorf("nothing came within %v", wait)
	}
}

// A watcher is the actor of a machine that weir only uses: it checks, and changes only what its Changer does.
type watcher struct{ Changer }

// Step refuses without a Changer.
func (w watcher) Step(ctx context.Context, s plan.Step) error {
	if w.Changer == nil {
		return errors.New("this machine is not weir's to change")
	}
	return w.Changer.Step(ctx, s)
}

// Close undoes what is left of events.
func (w watcher) Close() error {
	if w.Changer == nil {
		return nil
	}
	return w.Changer.Close()
}

// Check checks an MTU.
func (watcher) Check(s plan.State) error {
	if len(s.Offload) > 0 || s.Output != nil {
		return fmt.Errorf("cannot check offloads or output of programs on a machine that is not weir's: %+v", s)
	}
	dev, err := net.InterfaceByName(s.Dev)
	switch {
	case err != nil:
		return fmt.Errorf("device %s: %w", s.Dev, err)
	case dev.MTU != s.MTU:
		return fmt.Errorf("MTU of %s is %d, expected %d", s.Dev, dev.MTU, s.MTU)
	}
	return nil
}
