package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/agent"
)

// admitting listens for agents that hold the token. The channels have those that joined, with their
// places, and the refused.
func admitting(t *testing.T, token string) (addr string, nodes chan *agent.Node, refused chan error) {
	t.Helper()
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	_ = netlink.LinkSetUp(lo) // outside of a namespace, where it is up, nobody may
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nodes, refused = make(chan *agent.Node, 9), make(chan error, 99)
	ended := make(chan error)
	go func() {
		ended <- Admit(l, token, func(conn net.Conn, place []byte) {
			var name string
			if err := json.Unmarshal(place, &name); err != nil {
				t.Error(err)
			}
			n, _, err := Dial(context.Background(), name, conn, nil)
			if err != nil {
				t.Error(err)
				return
			}
			nodes <- n
		}, func(err error) { refused <- err })
	}()
	t.Cleanup(func() {
		l.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), nodes, refused
}

// An agent joins, obeys, and ends with the connection; it joins again when that breaks.
func TestJoin(t *testing.T) {
	addr, nodes, _ := admitting(t, "token")
	ended := make(chan error)
	go func() { ended <- Join(t.Context(), addr, "token", "n1") }()
	n := <-nodes
	var out bytes.Buffer
	if err := n.Run(t.Context(), target.Cmd{Argv: []string{"echo", "here"}, Stdout: &out}); err != nil || out.String() != "here\n" || n.Name() != "n1" {
		t.Errorf("%s: %q, %v", n.Name(), &out, err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the agent ended with %v", err)
	}
}

// A connection that ends without a word is cut, though TCP ended it in good order between two frames, as
// it does when the coordinator is killed: the agent joins again.
func TestJoinCut(t *testing.T) {
	t.Parallel()
	addr, nodes, _ := admitting(t, "token")
	relay, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var relaying sync.WaitGroup
	t.Cleanup(func() {
		relay.Close()
		relaying.Wait()
	})
	relayed := make(chan net.Conn, 9)
	relaying.Go(func() {
		for {
			near, err := relay.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
				relaying.Go(func() { // a plain copy: splice's pipes outlive it
					_, _ = io.Copy(struct{ io.Writer }{way[0]}, struct{ io.Reader }{way[1]})
					_, _ = near.Close(), far.Close()
				})
			}
			relayed <- near
		}
	})
	ended := make(chan error)
	go func() { ended <- Join(t.Context(), relay.Addr().String(), "token", "n1") }()
	first, wire := <-nodes, <-relayed
	if err := wire.Close(); err != nil { // the relay then closes both
		t.Fatal(err)
	}
	select {
	case second := <-nodes:
		for _, n := range []*agent.Node{first, second} {
			_ = n.Close() // the first has lost its connection
		}
		if err := <-ended; err != nil {
			t.Errorf("the agent ended with %v", err)
		}
	case err := <-ended:
		t.Errorf("the agent took the cut for the end of the run, and returned %v", err)
	}
}

// Without the token nobody is admitted, and no agent obeys.
func TestJoinToken(t *testing.T) {
	addr, _, refused := admitting(t, "token")
	conf, err := proving("other", agentRole, coordinatorRole)
	if err != nil {
		t.Fatal(err)
	}
	if served, err := join(t.Context(), addr, conf, []byte("\"n1\"\n"), watch); served || !errors.Is(err, errToken) {
		t.Errorf("the agent: served %v, %v", served, err)
	}
	<-refused
	// An agent that accepts every coordinator is refused by this one.
	conf.VerifyConnection = nil
	if served, err := join(t.Context(), addr, conf, []byte("\"n1\"\n"), watch); served || err == nil {
		t.Errorf("a dishonest agent: served %v, %v", served, err)
	}
	if err := <-refused; !errors.Is(err, errToken) {
		t.Errorf("the coordinator: %v", err)
	}
	// The right token, but in the wrong role: a coordinator must not pass for an agent.
	conf, err = proving("token", coordinatorRole, coordinatorRole)
	if err != nil {
		t.Fatal(err)
	}
	if served, err := join(t.Context(), addr, conf, []byte("\"n1\"\n"), watch); served || err == nil {
		t.Errorf("a coordinator as agent: served %v, %v", served, err)
	}
	if err := <-refused; !errors.Is(err, errToken) {
		t.Errorf("the coordinator: %v", err)
	}
}

// Whatever else calls is refused and holds nobody up.
func TestJoinStrangers(t *testing.T) {
	addr, nodes, refused := admitting(t, "token")
	silent, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", strings.Repeat("x", 100_000)} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, text) // it can be refused before
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
		if err := <-refused; err == nil {
			t.Errorf("%.20q was not refused", text)
		}
	}
	conf, err := proving("token", agentRole, coordinatorRole)
	if err != nil {
		t.Fatal(err)
	}
	if served, err := join(t.Context(), addr, conf, bytes.Repeat([]byte("x"), maxPlace+1), watch); served || err == nil {
		t.Errorf("a place without end: served %v, %v", served, err)
	}
	if err := <-refused; err == nil {
		t.Error("a place without end was not refused")
	}
	ended := make(chan error)
	go func() { ended <- Join(t.Context(), addr, "token", "n1") }()
	if err := (<-nodes).Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// An agent that is told to end while nobody answers does.
func TestJoinCanceled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if err := Join(ctx, "127.0.0.1:1", "token", "n1"); !errors.Is(err, enough) {
		t.Errorf("error %v", err)
	}
}
