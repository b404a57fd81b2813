package vm

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
)

// A client is the host's side: it has programs run in a guest, and files read,
// several at a time.
type client struct {
	out *sender

	mu    sync.Mutex
	last  int            // ID given
	calls map[int]*inbox // what the guest says, by ID
	err   error          // why it says nothing more
}

// errGone says that nothing is heard from a guest any more.
var errGone = errors.New("the virtual machine ended")

func newClient(port io.Writer, lines *json.Decoder) *client {
	c := &client{out: &sender{enc: json.NewEncoder(port)}, calls: map[int]*inbox{}}
	go c.listen(lines)
	return c
}

// listen hands out what the guest says until it says nothing more.
func (c *client) listen(lines *json.Decoder) {
	for {
		m, err := next(lines)
		c.mu.Lock()
		if err != nil {
			c.err = err
			for _, in := range c.calls {
				in.end()
			}
			c.mu.Unlock()
			return
		}
		if in := c.calls[m.ID]; in != nil {
			in.put(m)
		}
		c.mu.Unlock()
	}
}

// next returns what a guest says next.
func next(lines *json.Decoder) (m message, err error) {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if err = lines.Decode(&m); errors.As(err, &syntax) || errors.As(err, &kind) {
		err = fmt.Errorf("it said what is no message: %w", err)
	} else if err != nil {
		err = errGone
	}
	return m, err
}

// call sends a first message, to which the guest answers in the inbox. Whoever
// has heard enough calls forget.
func (c *client) call(m message) (in *inbox, id int, forget func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, 0, nil, c.err
	}
	c.last++
	m.ID, in = c.last, newInbox()
	if err := c.out.try(m); err != nil {
		return nil, 0, nil, errGone
	}
	c.calls[m.ID] = in
	return in, m.ID, func() {
		c.mu.Lock()
		delete(c.calls, m.ID)
		c.mu.Unlock()
	}, nil
}

// lost is why an inbox has ended.
func (c *client) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// What a guest may take: to end a program after SIGKILL, to read a file.
const answerTime = 10 * time.Second

// run runs a program to its end and returns how that was. When ctx is done the
// program gets a signal (see rootless.Ending), and SIGKILL if it takes longer
// than patience.
func (c *client) run(ctx context.Context, cmd Command, stdin io.Reader, stdout, stderr io.Writer, patience time.Duration) (syscall.WaitStatus, error) {
	cmd.Stdin = stdin != nil
	in, id, forget, err := c.call(message{Command: &cmd})
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
				return 0, fmt.Errorf("it did not answer within %v", answerTime)
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
			}
			if err := write(stdout, m.Out); err != nil {
				return 0, err
			}
			if err := write(stderr, m.Err); err != nil {
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
			_ = c.out.try(message{ID: id, EOF: true}) // whoever waits for it hears that the guest is gone
			return
		}
	}
}

// read returns what is in a file of the guest.
func (c *client) read(name string) ([]byte, error) {
	in, _, forget, err := c.call(message{Read: name})
	if err != nil {
		return nil, err
	}
	defer forget()
	late := time.After(answerTime)
	for {
		select {
		case <-in.some:
		case <-late:
			return nil, fmt.Errorf("no answer within %v", answerTime)
		}
		ms, ended := in.take()
		for _, m := range ms {
			if m.Failed != "" {
				return nil, failure(m)
			}
			if m.Done {
				return m.File, nil
			}
		}
		if ended {
			return nil, c.lost()
		}
	}
}

// failure is why the guest could not do something; the kernel's reason is kept.
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
