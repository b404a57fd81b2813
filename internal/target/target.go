// Package target is the seam between an experiment and the place it measures.
//
// A Target opens a Site: nodes where programs run, each on a Host, with the operations on them.
// Everything that weir does or observes while it measures goes through these types: no package
// above this one opens "/", starts a program for a trial, or assumes one machine, one clock or one
// /proc.
//
// A target in whose nodes this process acts directly implements the types itself (package lab). One
// behind a pipe only opens the pipe and takes the rest from package agent. Both must pass
// TestContract (package targettest).
package target

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/topo"
)

// A Target is a kind of place that networks are measured in.
type Target interface {
	// Open makes or finds the hosts and pods of want; Site.Topology lists them. Steps connect them
	// later. Services log to the directory logs, or where the target chooses when it is "".
	Open(ctx context.Context, want topo.Topology, logs string) (*Site, error)
}

// A Site is an open target.
type Site struct {
	// Topology is what exists. It can differ from the requested topology; plans are made for it.
	Topology topo.Topology
	Nodes    map[string]Node // by name of host or pod
	// Private means that the run owns the nodes, their network namespaces and every process in
	// their /proc. Only then can weir change kernel settings beyond the plan and attribute all
	// counters to the run.
	Private bool
	// Token admits clients to the run's servers. "" suits only networks that others cannot reach.
	Token string
	// Ports are the ports that servers can listen on; the zero Ports are trial's own.
	Ports Ports
	// Apply runs steps in order and names the one that fails.
	Apply func(context.Context, []plan.Step) error
	// Verify returns an error for every service that has ended, wrapping ErrService, and for every
	// state that does not hold.
	Verify func(context.Context, []plan.State) error
	// Shell returns the rsh(1)-style prefix, without spaces in its words, with which a program on
	// node from runs a command on node to, on cpus (none: any); HOST COMMAND… follows it. Both
	// nodes see the directory dir, which vanishes with the site, however it ends; "" without one.
	// Shell is nil where a site cannot do this.
	Shell func(from, to string, cpus []int) (argv []string, dir string)
	// Spaces returns the nodes by the inode of their network namespace, to which processes belong
	// (sample.Threads). Nodes with a kernel of their own are missing. It is nil where every node is a
	// machine.
	Spaces func() map[string]string
	// Clock is CLOCK_MONOTONIC of the one machine of all nodes, ns, on which the engine's moments are, too. It is nil where the
	// nodes are several machines.
	Clock func() int64
	// Changes watches what the kernels of the nodes change until stop, which returns it in time order. It is nil where a site
	// cannot do this.
	Changes func(context.Context) (stop func() ([]evidence.Change, error), err error)
	// Delays returns what the program that delays packets between the hosts counted since the last
	// call; nil counters where no program does. Delays itself can be nil.
	Delays func(context.Context) (sample.Counters, error)
	// Found holds what steps learned from programs (plan.Exec). It is stored with every result.
	Found map[string]string
	// Close undoes everything done to make and connect the nodes, and returns when it is gone.
	Close func() error
}

// Ports is a range of ports, both included.
type Ports struct{ First, Last uint16 }

// ErrLost means that a node can no longer be reached; opening the target again can help.
var ErrLost = errors.New("the connection to the machine was lost")

// ErrService means that a service of the network no longer runs.
var ErrService = errors.New("a service of the network has ended")

// Hosts returns the hosts of the named nodes, or of all nodes without arguments, each once and in
// the order of the names.
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
	// CPUs lists the processors available to programs, sorted; none when the node cannot choose.
	// Equal numbers on two hosts are different processors.
	CPUs() []int
	// FS is the node's / as its programs see it, with /proc/net of the node's own network
	// namespace. Directories need not be readable.
	FS() fs.FS
	// Run runs c to its end. When ctx ends, the program and its descendants get SIGTERM and then
	// SIGKILL, and Run returns context.Cause(ctx) unless the program succeeded. The error of a
	// failed program has a method ExitCode.
	Run(ctx context.Context, c Cmd) error
	// Sample reads sources of package sample as the node sees them.
	Sample(ctx context.Context, sources ...string) (Reading, error)
	// Settings reads the settings of the node and of its devices devs (those that exist), and the path
	// MTU that it learned toward far addresses.
	Settings(ctx context.Context, devs []string, far []netip.Addr) (evidence.Node, error)
}

// A Cmd is a program to run, as in os/exec.
type Cmd struct {
	// Argv never passes through a shell. "weir" is this program, wherever the node keeps it; the
	// node looks up others (facts.Find).
	Argv []string
	// Dir is the working directory on nodes that share this machine's files; "" is the node's.
	Dir string
	// Env is added to the node's environment, and hides secrets from the list of processes.
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	CPUs           []int // available to the program; none: any
	Mark           *Mark // readings to take while it runs; nil: none
}

// A Host is one machine: a kernel, its CPUs, its clock. Hosts with equal IDs are the same machine,
// and only their readings are comparable.
type Host struct {
	ID    string // of this boot (boot_id, random(4)), never ""
	Name  string // for people: the name by which the user called it, or ""
	FS    fs.FS  // what the machine itself sees below /
	Facts func(context.Context) (facts.Facts, error)
	Tool  func(context.Context, facts.ToolInfo) (path, version string, err error) // see facts.ToolInfo.Find
	// Sample reads sources of package sample, also those of a sample.Threads. sample.ForgetThreads must
	// follow the others.
	Sample func(ctx context.Context, sources ...string) (Reading, error)
}

// A Reading holds counters at one moment.
type Reading struct {
	// At is the host's monotonic clock with an arbitrary origin: do not compare hosts.
	At       time.Duration   `json:"at"`
	Own      float64         `json:"own"` // weir's CPU time on the host, seconds
	Counters sample.Counters `json:"counters"`
	Read     []string        `json:"read,omitempty"`    // sources that were read
	Missing  []string        `json:"missing,omitempty"` // why other counters are missing
}

// Sampled turns an error into missing counters: it costs values, not the trial.
func Sampled(r Reading, err error) Reading {
	if err != nil {
		r.Missing = append(r.Missing, err.Error())
	}
	return r
}
