package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/target"
)

// A client is the near side of one connection. It handles concurrent requests.
type client struct {
	out   *sender
	close func() error // the connection, once

	mu    sync.Mutex
	last  int            // latest ID
	calls map[int]*inbox // answers, by ID
	err   error          // why no more answers arrive
}

func newClient(conn io.ReadWriteCloser) *client {
	c := &client{close: sync.OnceValue(conn.Close), calls: map[int]*inbox{}}
	c.out = &sender{conn: conn, stuck: func() { _ = c.close() }}
	go c.listen(NewReader(conn))
	return c
}

// maxUnread bounds a program's unread output, bytes.
const maxUnread = 64 << 20

var errUnread = fmt.Errorf("more than %d bytes of unread output", maxUnread)

// listen distributes answers until the connection ends, then closes it.
func (c *client) listen(answers Reader) {
	defer c.close() // Node.Close returns its error
	err := caught.Error(func() error {
		for {
			var m message
			if err := answers.Read(&m); err != nil {
				return err
			}
			c.pass(m)
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = target.ErrLost
	if !errors.Is(err, io.EOF) {
		c.err = fmt.Errorf("%w: %w", target.ErrLost, err)
	}
	for _, in := range c.calls {
		in.end(c.err)
	}
}

// pass puts an answer into the inbox of its call.
func (c *client) pass(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if in := c.calls[m.ID]; in != nil && in.put(m) > maxUnread {
		in.end(errUnread)
		delete(c.calls, m.ID)
	}
}

// call sends a request; answers arrive in the inbox until forget is called.
func (c *client) call(m message) (in *inbox, id int, forget func(), err error) {
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return nil, 0, nil, c.err
	}
	c.last++
	m.ID, in = c.last, newInbox()
	c.calls[m.ID] = in
	c.mu.Unlock() // sending can wait for the other side, which can wait for listen
	forget = func() {
		c.mu.Lock()
		delete(c.calls, m.ID)
		c.mu.Unlock()
	}
	if err := c.out.send(m); err != nil {
		forget()
		return nil, 0, nil, fmt.Errorf("%w: %w", target.ErrLost, err)
	}
	return in, m.ID, forget, nil
}

// answerTime bounds all requests but programs. Loading a module under emulation can take 1 s.
const answerTime = 30 * time.Second

// ask sends a request that gets one answer.
func (c *client) ask(ctx context.Context, m message) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("no answer within %v", answerTime))
	defer cancel()
	if err := context.Cause(ctx); err != nil {
		return answer{}, err
	}
	in, _, forget, err := c.call(m)
	if err != nil {
		return answer{}, err
	}
	defer forget()
	select {
	case <-in.some:
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
	ms, ended := in.take()
	switch {
	case len(ms) == 0:
		return answer{}, ended
	case ms[0].Failed != "":
		return answer{}, failure(ms[0])
	case ms[0].Answer == nil:
		return answer{}, errors.New("the answer is empty")
	}
	return *ms[0].Answer, nil
}

// Exec runs a program in dir ("" is "/") to its end and returns its status. When ctx ends, the
// program gets the signal that rootless.Ending returns, and SIGKILL after patience. If the agent knows
// more about the end than its status, that is an error.
func (c *client) Exec(ctx context.Context, p target.Cmd, dir string, patience time.Duration) (syscall.WaitStatus, error) {
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	cmd := command{Argv: p.Argv, Env: p.Env, Dir: dir, CPUs: p.CPUs, Stdin: p.Stdin != nil}
	if p.Mark != nil {
		cmd.Marks, cmd.Sources = p.Mark.Lines, p.Mark.Sources
	}
	in, id, forget, err := c.call(message{Run: &cmd})
	if err != nil {
		return 0, err
	}
	defer forget()
	if p.Stdin != nil {
		go c.feed(id, p.Stdin)
	}
	done, late, killed := ctx.Done(), (<-chan time.Time)(nil), false
	kill := func() { _ = c.out.send(message{ID: id, Signal: syscall.SIGKILL}) }
	for {
		select {
		case <-in.some:
		case <-done:
			_ = c.out.send(message{ID: id, Signal: rootless.Ending(context.Cause(ctx))})
			done, late = nil, time.After(patience)
		case <-late:
			if killed {
				return 0, fmt.Errorf("no answer within %v of SIGKILL", answerTime)
			}
			kill()
			killed, late = true, time.After(answerTime)
		}
		ms, ended := in.take()
		for _, m := range ms {
			switch {
			case m.Failed != "":
				return 0, failure(m)
			case m.Exit != nil && m.Why != "":
				return *m.Exit, explainedBy(m)
			case m.Exit != nil:
				return *m.Exit, nil
			case m.Reading != nil && p.Mark != nil:
				p.Mark.Take(*m.Reading)
			}
			if err := errors.Join(write(p.Stdout, m.Out), write(p.Stderr, m.Err)); err != nil {
				kill()
				return 0, err
			}
		}
		if ended != nil {
			kill()
			return 0, ended
		}
	}
}

func write(to io.Writer, b []byte) error {
	if len(b) == 0 || to == nil {
		return nil
	}
	_, err := to.Write(b)
	return err
}

// feed copies stdin to a program until either ends.
func (c *client) feed(id int, stdin io.Reader) {
	b := make([]byte, 32<<10)
	for {
		n, err := stdin.Read(b)
		if n > 0 && c.out.send(message{ID: id, In: b[:n]}) != nil {
			return
		}
		if err != nil {
			_ = c.out.send(message{ID: id, EOF: true})
			return
		}
	}
}

// failure returns the agent's error with the kernel's error number, if any.
func failure(m message) error {
	if m.Errno != 0 {
		return &refused{m.Failed, m.Errno}
	}
	return errors.New(m.Failed)
}

type refused struct {
	text  string
	errno syscall.Errno
}

func (r *refused) Error() string { return r.text }
func (r *refused) Unwrap() error { return r.errno }
