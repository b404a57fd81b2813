// Package remote is everything between a pipe to another machine and a target.Node: the program's
// journey to the machine, and frames with checksums and heartbeats below package agent.
//
// A target (package ssh, package kube) only decides how the pipe opens and what it finds. The
// package must not know what the pipe runs over, or what is measured.
package remote

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/target/agent"
)

// Version is this program's version, which both ends must share. Package cli sets it first of all.
var Version = "devel"

// protocol is the version of greetings, frames and package agent's messages.
const protocol = 1

// Each end greets with a line: its word, the nonce of the near end, the protocol and the version.
const (
	nearWord = "weir-hello"
	farWord  = "weir-agent"
)

// A Hello is what the far end reports about itself.
type Hello struct {
	Weir string // its version, equal to Version
	agent.About
}

// Dial makes a node called name of the stream conn, which it owns: Node.Close and a failed Dial
// close it. With push, the far end runs Script and gets the program; without, it is `weir agent`.
//
// The far end can print up to 64 KiB of anything, such as a login banner, before it answers. Errors
// name the remedy. The connection fails after 15 s of silence or with the first damaged frame; the
// node's calls then return errors that wrap target.ErrLost. conn.Close must end pending reads and
// writes.
func Dial(ctx context.Context, name string, conn io.ReadWriteCloser, push *Programs) (*agent.Node, Hello, error) {
	return dial(ctx, name, conn, push, nearTimes)
}

func dial(ctx context.Context, name string, conn io.ReadWriteCloser, push *Programs, t times) (*agent.Node, Hello, error) {
	in := bufio.NewReader(conn)
	hello, err := greet(ctx, in, conn, push, t)
	if err != nil {
		_ = conn.Close() // the failure above matters more
		return nil, Hello{}, fmt.Errorf("%s: %w", name, err)
	}
	n, err := agent.Dial(ctx, name, newFrames(in, conn, conn.Close, t), nil)
	if err != nil {
		return nil, Hello{}, err
	}
	hello.About = n.About()
	return n, hello, nil
}

// greet talks to the far end until frames can follow.
func greet(ctx context.Context, in *bufio.Reader, conn io.ReadWriteCloser, push *Programs, t times) (_ Hello, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := fmt.Errorf("no answer within %v", t.greet)
	late := time.AfterFunc(t.greet, func() { cancel(silence) })
	defer late.Stop()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends what is pending
	talk := &talk{in: in, nonce: rand.Text()}
	defer func() {
		if !stop() {
			err = context.Cause(ctx)
			switch {
			case len(talk.seen) > 0: // such as a question
				err = fmt.Errorf("%w; it printed: %s", err, last(talk.seen))
			case errors.Is(err, silence):
				err = fmt.Errorf("%w; a firewall or a proxy on the way can drop what passes: check that it lets this connection through", err)
			}
			if p, ok := conn.(*Pipe); ok && p.Said() != "" {
				err = fmt.Errorf("%w: %s: %s", err, p.name(), p.Said())
			}
		}
	}()
	if push != nil {
		_, _ = fmt.Fprintln(conn, talk.nonce) // if it fails, there is no answer, and a reason
		err := talk.push(conn, *push, func() { late.Reset(t.push) })
		if err != nil {
			return Hello{}, err
		}
		late.Reset(t.greet)
	}
	_, _ = fmt.Fprintf(conn, "%s %s %d %s\n", nearWord, talk.nonce, protocol, Version)
	text, err := talk.answer(farWord)
	if err != nil {
		return Hello{}, err
	}
	theirs, version, _ := strings.Cut(text, " ")
	if theirs != strconv.Itoa(protocol) || version != Version {
		return Hello{}, fmt.Errorf("the machine has weir %s (protocol %s) and this is weir %s (protocol %d); use one version on both", version, theirs, Version, protocol)
	}
	return Hello{Weir: version}, nil
}

// A Link is a network device of a machine.
type Link = agent.Link

// A LinkLister is a node that lists the network devices of its machine or pod: every node behind a pipe does.
type LinkLister interface {
	Links(context.Context) ([]Link, error)
}

var _ LinkLister = (*agent.Node)(nil)

// Links lists the network devices of n's network namespace in the order of their indices.
func Links(ctx context.Context, n *agent.Node) ([]Link, error) { return n.Links(ctx) }

// Source returns the address and the device that n's kernel chooses for packets to an address.
func Source(ctx context.Context, n *agent.Node, to netip.Addr) (from netip.Addr, dev string, err error) {
	return n.Source(ctx, to)
}
