package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/target"
)

// A client is the near side of one connection: any number of requests at a time.
type client struct {
	out *sender

	mu    sync.Mutex
	last  int            // ID given
	calls map[int]*inbox // answers, by ID
	err   error          // why none follow
}

// ErrLost reports that the agent can no longer be reached.
var ErrLost = errors.New("the connection to the agent was lost")

func newClient(conn io.ReadWriter) *client {
	c := &client{out: &sender{enc: json.NewEncoder(conn)}, calls: map[int]*inbox{}}
	go c.listen(json.NewDecoder(conn))
	return c
}

// listen hands out answers until the connection ends.
func (c *client) listen(lines *json.Decoder) {
	for {
		var m message
		err := lines.Decode(&m)
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		c.mu.Lock()
		switch {
		case errors.As(err, &syntax) || errors.As(err, &kind):
			c.err = fmt.Errorf("%w: it sent something that is not a message: %w", ErrLost, err)
		case err != nil:
			c.err = ErrLost
		case c.calls[m.ID] != nil:
			c.calls[m.ID].put(m)
		}
		if err != nil {
			for _, in := range c.calls {
				in.end()
			}
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
	}
}

// call sends a request, whose answers arrive in the inbox until forget is called.
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
	if err := c.out.try(m); err != nil {
		forget()
		return nil, 0, nil, ErrLost
	}
	return in, m.ID, forget, nil
}

// lost is why an inbox has ended.
func (c *client) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// answerTime bounds every request but a running program. A step in an emulated
// machine can take a second to load a module.
const answerTime = 30 * time.Second

// ask sends a request that gets one answer.
func (c *client) ask(ctx context.Context, m message) (answer, error) {
	if err := context.Cause(ctx); err != nil {
		return answer{}, err
	}
	in, _, forget, err := c.call(m)
	if err != nil {
		return answer{}, err
	}
	defer forget()
	late := time.NewTimer(answerTime)
	defer late.Stop()
	select {
	case <-in.some:
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	case <-late.C:
		return answer{}, fmt.Errorf("no answer within %v", answerTime)
	}
	ms, _ := in.take()
	switch {
	case len(ms) == 0:
		return answer{}, c.lost()
	case ms[0].Failed != "":
		return answer{}, failure(ms[0])
	case ms[0].Answer == nil:
		return answer{}, errors.New("the answer is empty")
	}
	return *ms[0].Answer, nil
}

// run runs a program to its end and returns how it ended. When ctx ends, the program
// gets a signal (rootless.Ending), and SIGKILL when it takes longer than patience.
func (c *client) run(ctx context.Context, cmd Command, stdin io.Reader, stdout, stderr io.Writer, take func(target.Reading), patience time.Duration) (syscall.WaitStatus, error) {
	cmd.Stdin = stdin != nil
	in, id, forget, err := c.call(message{Run: &cmd})
	if err != nil {
		return 0, err
	}
	defer forget()
	if stdin != nil {
		go c.feed(id, stdin)
	}
	done, late, killed := ctx.Done(), (<-chan time.Time)(nil), false
	for {
		select {
		case <-in.some:
		case <-done:
			c.out.send(message{ID: id, Signal: rootless.Ending(context.Cause(ctx))})
			done, late = nil, time.After(patience)
		case <-late:
			if killed {
				return 0, fmt.Errorf("no answer within %v of SIGKILL", answerTime)
			}
			c.out.send(message{ID: id, Signal: syscall.SIGKILL})
			killed, late = true, time.After(answerTime)
		}
		ms, ended := in.take()
		for _, m := range ms {
			switch {
			case m.Failed != "":
				return 0, failure(m)
			case m.Exit != nil:
				return *m.Exit, nil
			case m.Reading != nil && take != nil:
				take(*m.Reading)
			}
			if err := errors.Join(write(stdout, m.Out), write(stderr, m.Err)); err != nil {
				return 0, err
			}
		}
		if ended {
			return 0, c.lost()
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

// feed sends a program its standard input, to the end of either.
func (c *client) feed(id int, stdin io.Reader) {
	b := make([]byte, 32<<10)
	for {
		n, err := stdin.Read(b)
		if n > 0 && c.out.try(message{ID: id, In: b[:n]}) != nil {
			return
		}
		if err != nil {
			c.out.send(message{ID: id, EOF: true})
			return
		}
	}
}

// failure is why the agent could not do something; the kernel's reason is kept.
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
