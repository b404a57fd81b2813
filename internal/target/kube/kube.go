// Package kube measures the network of a Kubernetes cluster from pods that it starts there for a run.
//
// Only the user's own kubectl talks to the cluster, with the user's configuration; nothing but a
// coordinator listens for control. Every pod belongs to a Job with a deadline and a time to live, whose process 1 is the agent,
// or a shell that becomes it, attached through `kubectl attach`. When weir dies, the agents do, the Jobs
// end, and the cluster removes them with their pods and Services.
//
// Hundreds of nodes are too many for one machine's kubectl: Launch then starts a coordinator in the
// cluster, which carries out the run with a Coordinator. Its agents dial it, and prove that they may.
//
// The package must not change anything else in the cluster, or know what is measured.
package kube

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/topo"
)

var _ target.Target = (*Target)(nil)

// A Target is a cluster. Its exported fields do not change after the first call.
type Target struct {
	study.Kube
	Ports target.Ports // that servers listen on; zero: DefaultPorts
	// Wants holds the topologies of all networks that Open will be asked for, so that the pods of all of
	// them start together. Open works for others, too.
	Wants []topo.Topology
	// HostNetwork also starts a pod in the network of every host where only pods are measured, for the
	// ends pod-host and host-pod. Networks of hosts need no HostNetwork.
	HostNetwork bool
	Events      []plan.Event    // of the study: weir needs permission for what they do
	Programs    remote.Programs // for clusters without Image
	// Warn gets sentences about differences from what was asked for; nil discards them.
	Warn func(string)

	mu        sync.Mutex
	run       string // in the names and labels of objects
	connected bool
	machines  []*Machine
	notes     []string // about them
	version   string   // of the cluster
	enforce   string   // PodSecurity level of the namespace; "" is unknown
	current   string   // context, if none was asked for
	class     string   // the default StorageClass, if the results get a claim of it
	kept      bool     // they are on a claim; see Kept
	told      string   // why a coordinator was replaced
	space     bool     // weir has made the namespace
	dirty     bool     // objects can exist, and the namespace unless it is the user's; see soil
	admitted  map[bool]error
	seats     map[string]*seat // by component
	found     map[string]string
	token     string
	allowed   []string // DaemonSets; see Allow
	leftover  atomic.Pointer[[]string]

	ready, podSoon time.Duration // tests wait for less than readyTime and podTime
}

// DefaultPorts are the ports of servers, as on machines over SSH.
var DefaultPorts = target.Ports{First: 5201, Last: 5299}

func (t *Target) ports() target.Ports {
	if t.Ports == (target.Ports{}) {
		return DefaultPorts
	}
	return t.Ports
}

// servicePorts returns the ports that Services forward: the first ones of the range.
func (t *Target) servicePorts() (first, last uint16) {
	p := t.ports()
	return p.First, uint16(min(uint32(p.Last), uint32(p.First)+servicePorts-1))
}

func (t *Target) shell() string { return cmp.Or(t.Shell, defaultShell) }

func (t *Target) warn(format string, args ...any) {
	if t.Warn != nil {
		t.Warn(fmt.Sprintf(format, args...))
	}
}

// inside returns the kubectl for objects of the run.
func (t *Target) inside() kubectl {
	return kubectl{t.outside().context, cmp.Or(t.Namespace, "weir-"+t.run)}
}

// outside returns the kubectl for everything else.
func (t *Target) outside() kubectl { return kubectl{context: cmp.Or(t.Context, t.current)} }

// Connect checks that a run can start: kubectl, the context, the nodes, the namespace and the
// permissions. It makes nothing in the cluster. The error is a *UsageError if the context, the namespace or
// a node does not exist.
func (t *Target) Connect(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.connect(ctx)
}

func (t *Target) connect(ctx context.Context) error {
	if t.connected {
		return nil
	}
	t.name()
	for _, c := range t.checks() {
		_, err := c.look(ctx)
		if err != nil && c.needed {
			return err
		}
		if err != nil {
			t.warn("%v", err)
		}
	}
	for _, n := range t.notes {
		t.warn("%s", n)
	}
	t.connected = true
	return nil
}

// name gives the run its name and token.
func (t *Target) name() {
	if t.run == "" {
		t.run = strings.ToLower(rand.Text()[:8])
	}
	if t.token == "" {
		t.token = rand.Text()
	}
}

// Machines returns the chosen nodes; two where weir chooses. It is empty before Connect.
func (t *Target) Machines() []Machine {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ms []Machine
	for _, m := range t.machines {
		if !t.any() || len(ms) < defaultNodes {
			ms = append(ms, *m)
		}
	}
	return ms
}

// Open returns the pods of a network, and starts those that do not run. Later Opens use the same pods.
func (t *Target) Open(ctx context.Context, want topo.Topology, _ string) (*target.Site, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.connect(ctx); err != nil {
		return nil, err
	}
	started, err := t.start(ctx, want)
	if err != nil {
		return nil, err
	}
	if started {
		t.found = t.learn(ctx, t.ask(ctx))
	}
	return t.site(want)
}

// Close ends all agents and deletes everything that the run made in the cluster, by its labels, or says
// what it keeps.
func (t *Target) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var seats []*seat
	for _, s := range t.seats {
		seats = append(seats, s)
	}
	t.hangUp(seats)
	t.seats, t.found, t.admitted = nil, nil, nil
	if !t.dirty {
		return nil
	}
	in, byHand := t.inside(), t.byHand()
	if t.Keep {
		t.warn("the objects of the run stay in the namespace %s; to remove them: %s", in.namespace, byHand)
		return nil
	}
	var err error
	if t.Namespace == "" {
		// First, because nothing else ever removes it, and the caller need not wait for the pods. It goes slowly.
		_, err = t.outside().call(context.Background(), nil, "delete", "namespace", in.namespace, "--ignore-not-found", "--wait=false")
	}
	_, left := in.call(context.Background(), nil, "delete", "jobs,services", "-l", t.selector(), "--cascade=foreground", fmt.Sprintf("--timeout=%v", callTime-10*time.Second))
	if err = errors.Join(err, left); err != nil {
		return advise("what is left ends by itself soon; to remove it: "+byHand, "clean up the cluster: %w", err)
	}
	t.soil(false)
	t.space = false
	t.run, t.connected = "", false // a namespace can still be on its way out: the next run has another
	return nil
}

// byHand returns the command that removes everything that the run made.
func (t *Target) byHand() string {
	if t.Namespace == "" {
		return t.outside().typed("delete", "namespace", t.inside().namespace)
	}
	return t.inside().typed("delete", "jobs,services", "-l", t.selector())
}

// soil records whether objects of the run can exist.
func (t *Target) soil(dirty bool) {
	t.dirty = dirty
	var argv []string
	switch {
	case !dirty || t.Keep:
	case t.Namespace == "":
		argv = t.outside().argv("delete", "namespace", t.inside().namespace, "--ignore-not-found", "--wait=false")
	default:
		argv = t.inside().argv("delete", "jobs,services", "-l", t.selector(), "--wait=false")
	}
	t.leftover.Store(&argv)
}

// Leftover returns the command line that begins to remove everything that the run made, as Close does; nil if nothing
// is left to remove. It waits for no other call.
func (t *Target) Leftover() []string {
	if argv := t.leftover.Load(); argv != nil {
		return *argv
	}
	return nil
}

// RemoveCommand returns the command line that ends the run in the cluster and removes all of it, for sh(1).
func (t *Target) RemoveCommand() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byHand()
}
