// Package target says what a place under test must offer. Whatever weir does to
// a machine during a measurement goes through these types, so a new kind of
// place is one small type.
package target

import (
	"context"
	"io"
	"io/fs"

	"github.com/weir-bench/weir/internal/plan"
)

// A Cmd is a program to run, as in os/exec. Argv is never given to a shell; the
// program "weir" is this program, wherever the node keeps it.
type Cmd struct {
	Argv           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// CPUs are the processors that the program may use; empty is any.
	CPUs []int
}

// A Node is a place where programs run: a namespace, a machine, a pod, a VM.
type Node interface {
	Name() string
	// Run runs c to its end. Cancelling ctx stops the program, with SIGTERM and
	// then SIGKILL, and all that it started; Run then returns context.Cause(ctx)
	// unless the program ended well.
	Run(ctx context.Context, c Cmd) error
	// CPUs lists the processors that programs may be given, sorted.
	CPUs() []int
	// FS is what the node sees below /; counters are read through it.
	FS() fs.FS
}

// A Site is a set of nodes that can be connected.
type Site struct {
	Nodes map[string]Node // by name of host or pod
	// Apply runs steps in order and names the one that fails.
	Apply func(context.Context, []plan.Step) error
	// Verify returns an error that names every expectation about the state of a
	// device (MTU, offload) that does not hold.
	Verify func(context.Context, []plan.Expect) error
	// Shell returns what runs a command on node for a program on another node,
	// as rsh(1) does: to be followed by HOST COMMAND…, no word of it has a space.
	// The command may use cpus; empty is any. Shell is nil when there is none.
	Shell func(node string, cpus []int) []string
	// Dir is a directory that every node sees and that vanishes with the site,
	// however that ends; "" when there is none.
	Dir string
	// Close undoes all that was done to make and connect the nodes.
	Close func() error
}
