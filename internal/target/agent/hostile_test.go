package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/target"
)

// A stream reads what the test says.
type stream struct {
	*io.PipeReader
	io.Writer
}

// requests returns a writer that reports the first messages written to it. An answer must not come
// before its request: it would be an answer to nobody.
func requests() (io.Writer, <-chan bool) {
	asked := make(chan bool, 8)
	return writer(func(b []byte) {
		if !bytes.HasSuffix(b, []byte("\n")) {
			return
		}
		select {
		case asked <- true:
		default:
		}
	}), asked
}

// hostile returns a node whose far end is the test.
func hostile() (n *Node, say *io.PipeWriter, asked <-chan bool) {
	said, say := io.Pipe()
	to, asked := requests()
	return &Node{client: newClient(stream{said, to}), name: "n"}, say, asked
}

func ask(t *testing.T, n *Node) error {
	t.Helper()
	_, err := fs.ReadFile(n.FS(), "x")
	return err
}

// repeated is an endless line.
type repeated struct{ n atomic.Int64 }

func (r *repeated) Read(b []byte) (int, error) {
	r.n.Add(int64(len(b)))
	return copy(b, bytes.Repeat([]byte("a"), len(b))), nil
}

func TestBrokenStreams(t *testing.T) {
	endless := &repeated{}
	for name, c := range map[string]struct {
		said io.Reader
		want string
	}{
		"a greeting of the login shell": {strings.NewReader("Welcome!\n"), `invalid message: invalid character 'W' looking for beginning of value: "Welcome!"`},
		"a closed pipe in mid-line":     {strings.NewReader(`{"id":1,"answer":{"file":"eA=="}}`), target.ErrLost.Error()},
		"a line without end":            {endless, "invalid message: a line has more than 16777216 bytes"},
		"an answer to nobody":           {strings.NewReader(`{"id":7,"answer":{}}` + "\n\n" + `{"id":1}` + "\n"), "the answer is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			n, say, asked := hostile()
			defer n.Close()
			go func() {
				<-asked
				_, _ = io.Copy(say, c.said) // until either ends
				say.Close()
			}()
			if err := ask(t, n); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
	if n := endless.n.Load(); n > 4*maxMessage {
		t.Errorf("%d bytes of a line were read", n)
	}
}

// A silent or blocked far end costs a caller a bounded time, which passes at once in a bubble.
func TestStalledAgent(t *testing.T) {
	for name, reads := range map[string]bool{"silent": true, "reads nothing": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				if reads {
					go func() { _, _ = io.Copy(io.Discard, theirs) }() // until closed
				}
				begin := time.Now()
				if _, err := Dial(t.Context(), "n", ours, nil); err == nil {
					t.Error("it was greeted")
				}
				n := &Node{client: newClient(ours), name: "n"}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := n.Run(ctx, target.Cmd{Argv: []string{"x"}}); err == nil {
					t.Error("a program ended well")
				}
				if took := time.Since(begin); took > 3*answerTime {
					t.Errorf("it took %v", took)
				}
				n.Close()
				theirs.Close()
			})
		})
	}
}

// A program whose output nobody reads is abandoned before it fills the memory. Others continue.
func TestFlood(t *testing.T) {
	n, say, asked := hostile()
	defer n.Close()
	line, err := json.Marshal(message{ID: 1, Out: make([]byte, 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	answer := []byte(`{"id":2,"answer":{"file":"eA=="}}` + "\n")
	first, blocked := make(chan bool), make(chan bool)
	out := writer(func([]byte) {
		if first != nil {
			close(first)
			first = nil
			<-blocked
		}
	})
	ended := make(chan error)
	begun := first
	go func() { ended <- n.Run(t.Context(), target.Cmd{Argv: []string{"x"}, Stdout: out}) }()
	<-asked
	for i := range 2*maxUnread>>20 + 1 {
		if _, err := say.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			<-begun
		}
	}
	go func() {
		<-asked
		_, _ = say.Write(answer) // a failed write fails the test
	}()
	if err := ask(t, n); err != nil {
		t.Errorf("another request: %v", err)
	}
	close(blocked)
	if err := <-ended; !errors.Is(err, errUnread) {
		t.Errorf("error %v, want %v", err, errUnread)
	}
}

// An agent that does not name its machine is refused: two of them would seem to share one.
func TestNamelessHost(t *testing.T) {
	said, say := io.Pipe()
	to, asked := requests()
	go func() {
		<-asked
		_, _ = io.WriteString(say, `{"id":1,"answer":{}}`+"\n") // a failed write fails Dial
	}()
	if _, err := Dial(t.Context(), "n", stream{said, to}, nil); err == nil || !strings.Contains(err.Error(), "name its host") {
		t.Errorf("error %v", err)
	}
}

// A program whose output cannot be passed on is ended.
func TestOutputFails(t *testing.T) {
	n, _ := connected(t)
	r, w := io.Pipe()
	r.Close()
	begin := time.Now()
	if err := n.Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", "echo x; sleep 1000"}, Stdout: w}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
	n.Close() // waits for programs
	if took := time.Since(begin); took > answerTime {
		t.Errorf("it took %v", took)
	}
}

// An endless file is an error and does not exhaust the agent's memory.
func TestEndlessFile(t *testing.T) {
	n, _ := connected(t)
	if _, err := fs.ReadFile(n.FS(), "dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero has more than 8388608 bytes") {
		t.Errorf("error %v", err)
	}
}

// An agent ends when it cannot parse a request.
func TestBrokenCoordinator(t *testing.T) {
	for _, said := range []string{"{\n", `{"id":[]}` + "\n", "GET / HTTP/1.1\r\n"} {
		err := Serve(struct {
			io.Reader
			io.Writer
		}{strings.NewReader(said), io.Discard}, nil)
		if !errors.Is(err, ErrMessage) {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// The reader accepts any split of a line, and round-trips what it has read.
func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"id":1,"run":{"argv":["eA=="],"stdin":true}}` + "\n" + `{"id":1,"in":"eA=="}` + "\r\n\n" + `{"id":1,"eof":true}` + "\n"))
	f.Add([]byte(`{"id":2,"answer":{"reading":{"at":1,"own":2,"counters":{"a":3}}}}` + "\n" + `{"id":2,"exit":256}`))
	f.Add([]byte(`{"id":3,"step":{"in":"h1","addr":{"dev":"lo","prefix":"fd77::1/64"}}}` + "\nnull\n{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for r := NewReader(bytes.NewReader(b)); ; {
			var m, again message
			err := r.Read(&m)
			if errors.Is(err, io.EOF) || errors.Is(err, ErrMessage) {
				return
			}
			var sent bytes.Buffer
			if err := errors.Join(err, (&sender{conn: &sent}).send(m), NewReader(bytes.NewReader(sent.Bytes())).Read(&again)); err != nil {
				t.Fatalf("%+v: %v", m, err)
			}
			if a, _ := json.Marshal(again); !bytes.Equal(append(a, '\n'), sent.Bytes()) {
				t.Errorf("%s became %s", sent.Bytes(), a)
			}
		}
	})
}

type panicking struct{}

func (panicking) Read([]byte) (int, error)    { panic("read") }
func (panicking) Write(b []byte) (int, error) { return len(b), nil }
func (panicking) Close() error                { return nil }

// A panic over an answer loses the agent, with the cause.
func TestPanicOverAnswer(t *testing.T) {
	n := &Node{client: newClient(panicking{}), name: "n"}
	if err := n.Run(t.Context(), target.Cmd{Argv: []string{"x"}}); !errors.Is(err, target.ErrLost) || !strings.Contains(err.Error(), "internal error: read") {
		t.Error(err)
	}
}
