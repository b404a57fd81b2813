// Package remote is everything between a pipe to another machine and a target.Node: the program's
// way there, and frames with checksums and heartbeats below package agent.
//
// A target (package ssh, package kube) only decides how the pipe opens and what it finds. The
// package must not know what the pipe runs over, or what is measured.
package remote

import (
	"context"
	"io"
	"net/netip"

	"github.com/weir-bench/weir/internal/target/agent"
)

// Version is this program's version, which both ends must share. Package cli sets it first of all.
var Version = "devel"

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
// node's calls then return errors that wrap target.ErrLost.
func Dial(ctx context.Context, name string, conn io.ReadWriteCloser, push *Programs) (*agent.Node, Hello, error) {
	panic("not yet")
}

// Serve is the body of `weir agent`: it waits for the greeting of Dial on in, answers on out, and
// serves as the agent until in ends, 30 s pass in silence, or a frame is damaged. All programs that
// it started are then gone. First of all it removes the directory remove and the file "weir" in it,
// which Script made; "" removes nothing.
func Serve(in io.Reader, out io.Writer, remove string) error { panic("not yet") }

// A Link is a network device of a machine.
type Link = agent.Link

// Links lists the network devices of n's network namespace in the order of their indices.
func Links(ctx context.Context, n *agent.Node) ([]Link, error) { return n.Links(ctx) }

// Source returns the address and the device that n's kernel chooses for packets to an address.
func Source(ctx context.Context, n *agent.Node, to netip.Addr) (from netip.Addr, dev string, err error) {
	return n.Source(ctx, to)
}
