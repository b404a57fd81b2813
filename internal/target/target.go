// Package target is the seam between an experiment and the place that it measures.
//
// A Target opens a Site: nodes where programs run, each on a Host, and what can be
// done to them. Everything that weir does or observes while it measures goes
// through these types: no package above this one opens "/", starts a program for a
// trial, or assumes one machine, one clock or one /proc.
//
// A target in which this process acts itself implements them directly (package
// lab). One that is reached through a pipe needs a way to open the pipe, and takes
// the rest from package agent. Both must pass TestContract (package targettest).
package target

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/topo"
)

// A Target is a kind of place that networks are measured in.
type Target interface {
	// Open makes the hosts and pods of want, or finds some that stand for them; the
	// site says which there are. Steps connect them later. Services of the network
	// log to files in the directory logs, or where the target likes when it is "".
	Open(ctx context.Context, want topo.Topology, logs string) (*Site, error)
}

// A Site is what a target has opened: nodes, and what can be done to them.
type Site struct {
	// Topology is what there is: what was asked for, or what was found. Plans are
	// made for it, not for what was asked for.
	Topology topo.Topology
	Nodes    map[string]Node // by name of host or pod
	// Private: the run has the nodes, their network namespaces and every process
	// that /proc shows to itself. Only then are kernel settings changed beyond what
	// a plan says, and only then does everything that they count belong to the run.
	Private bool
	// Token admits clients to the servers that the run starts; "" leaves servers
	// open to all who reach them, which only suits networks that others cannot reach.
	Token string
	// Apply runs steps in order and names the one that fails.
	Apply func(context.Context, []plan.Step) error
	// Verify returns an error that names every service that has ended, and wraps
	// ErrService then, and every state that does not hold.
	Verify func(context.Context, []plan.State) error
	// Shell returns the rsh(1)-style prefix with which a program on node from runs a
	// command on node to, on the given CPUs (none: any): what follows it is HOST
	// COMMAND…, and no word of it holds a space. dir is a directory that both nodes
	// see and that vanishes with the site, however that ends; "" when there is none.
	// Shell is nil where a site has no such way.
	Shell func(from, to string, cpus []int) (argv []string, dir string)
	// Found is what steps learned from programs and daemons (plan.Exec). It is stored
	// with every result of the network.
	Found map[string]string
	// Close undoes everything that was done to make and connect the nodes, and
	// returns when it is gone.
	Close func() error
}

// ErrService reports that a service of the network is no longer running.
var ErrService = errors.New("a service of the network has ended")

// Hosts returns the hosts of the named nodes, or of all nodes without a name: each
// once, in the order of the names.
func (s *Site) Hosts(nodes ...string) []*Host {
	if len(nodes) == 0 {
		nodes = slices.Sorted(maps.Keys(s.Nodes))
	}
	var hosts []*Host
	for _, name := range nodes {
		h := s.Nodes[name].Host()
		if !slices.ContainsFunc(hosts, func(have *Host) bool { return have.ID == h.ID }) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// A Node is a place where programs run: a namespace, a machine, a pod, a VM.
type Node interface {
	Name() string
	// Host is the machine whose CPUs and clock the node uses.
	Host() *Host
	// CPUs lists the processors that programs can be given, sorted; none when the
	// node cannot choose. Equal numbers on two hosts are different processors.
	CPUs() []int
	// FS is what programs on the node see below /. /proc/net is that of the node's
	// own network namespace. Directories need not be readable.
	FS() fs.FS
	// Run runs c to its end. When ctx ends, the program gets SIGTERM and then
	// SIGKILL, with everything that it started, and Run returns context.Cause(ctx)
	// unless the program ended well. The error of a program that failed has a method
	// ExitCode.
	Run(ctx context.Context, c Cmd) error
	// Sample reads sources of package sample as the node sees them.
	Sample(ctx context.Context, sources ...string) (Reading, error)
}

// A Cmd is a program to run, as in os/exec.
type Cmd struct {
	// Argv is never given to a shell. The program "weir" is this program, wherever
	// the node keeps it; the node looks up others (facts.Find).
	Argv []string
	// Env is added to the node's environment. What others must not read in the list
	// of processes belongs here.
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	CPUs           []int // processors that the program can use; none: any
	Mark           *Mark // readings to take while it runs; nil: none
}

// A Host is one machine: a kernel, its CPUs, its clock. Nodes share a host when its
// IDs are equal, and only then are their readings comparable.
type Host struct {
	ID     string // of this boot (boot_id, random(4)), never ""
	FS     fs.FS  // what the machine itself sees below /
	Facts  func(context.Context) (facts.Facts, error)
	Tool   func(context.Context, facts.ToolInfo) (path, version string, err error) // see facts.ToolInfo.Find
	Sample func(ctx context.Context, sources ...string) (Reading, error)
}

// A Reading is counters at one moment.
type Reading struct {
	// At is the host's own monotonic clock, from an origin of its own: a difference
	// between two hosts means nothing.
	At       time.Duration   `json:"at"`
	Own      float64         `json:"own"` // CPU time that weir's process on the host has used, seconds
	Counters sample.Counters `json:"counters"`
	Missing  []string        `json:"missing,omitempty"` // why other counters were not read
}

// Sampled makes an error a counter that is missing: it costs values, not the trial.
func Sampled(r Reading, err error) Reading {
	if err != nil {
		r.Missing = append(r.Missing, err.Error())
	}
	return r
}
