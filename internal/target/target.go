// Package target says what a place under test must offer. Whatever weir does to
// a machine during a measurement goes through these types, so a new kind of
// place is one small type.
package target

import (
	"context"
	"errors"
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

// ErrService says that a service of the network is not running any more.
var ErrService = errors.New("a service of the network has ended")

// A Site is a set of nodes that can be connected.
type Site struct {
	Nodes map[string]Node // by name of host or pod
	// Apply runs steps in order and names the one that fails.
	Apply func(context.Context, []plan.Step) error
	// Verify returns an error that names every service that has ended, which is
	// then an ErrService, and every expectation about the state of a device (MTU,
	// offload) that does not hold.
	Verify func(context.Context, []plan.Expect) error
	// Shell says how a program on one node starts another on the node to: with what
	// a command runs there, as by rsh(1), to be followed by HOST COMMAND…, no word of
	// it has a space; and a directory that both see and that vanishes with the site,
	// however that ends, "" when there is none. The command may use cpus; empty is
	// any. Shell is nil when there is none.
	Shell func(from, to string, cpus []int) (argv []string, dir string)
	// Machine is what there is below / where all nodes run; its /proc shows every
	// process of the run and none of others.
	Machine fs.FS
	// Found is what the steps that were applied found out of programs and daemons
	// (plan.Exec); every result of the network holds it.
	Found map[string]string
	// Close undoes all that was done to make and connect the nodes.
	Close func() error
}
