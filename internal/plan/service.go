package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Dir stands for the state directory of a place in a Service, an Exec or the content of a File:
// "{dir}/db.sock". It belongs to one place of one network and is empty when the first step runs.
// The target chooses a short path because a Unix socket's path holds only 107 bytes (unix(7)).
const Dir = "{dir}"

// Cgroup stands for the name of a control group that belongs to the network alone, below the root
// of every hierarchy. A daemon creates it; it does not outlive weir.
const Cgroup = "{cgroup}"

// A Service is a daemon that runs in a place, in the directory Dir, from its step until the network
// is closed. It must stay in the foreground. The step is done when the service is ready. If the
// service ends early, trials on the network fail.
type Service struct {
	Name  string   `json:"name"` // of the service in messages, and of its log
	Argv  []string `json:"argv"` // never passed to a shell; the program "weir" is this program
	Env   []string `json:"env,omitempty"`
	Opens []string `json:"opens,omitempty"` // device files that it needs: /dev/net/tun, /dev/kvm
	// Kernel names features without which the service silently ends or changes: dummy, ipip,
	// openvswitch, vxlan.
	Kernel []string `json:"kernel,omitempty"`
	Root   bool     `json:"root,omitempty"` // it must be root of the machine, not of a user namespace
	// Private lists directories of the machine that the service sees; its writes are visible only
	// in the place and vanish with it.
	Private []string `json:"private,omitempty"`
	Ready   Ready    `json:"ready"`
	Makes   []string `json:"makes,omitempty"` // network devices that are in the place once it is ready
	// Forwards lists devices of the place between which it forwards packets instead of the IP stack.
	Forwards []string `json:"forwards,omitempty"`
	// Carries: packets between the ends pass the program itself. One that only sets up or manages what the kernel does
	// with them, however often it wakes up, does not carry.
	Carries bool `json:"-"`
}

// Ready defines when a Service is ready. Exactly one of the first three fields is set.
type Ready struct {
	Argv    []string `json:"argv,omitempty"`    // a command that then succeeds, with the Env of the service
	File    string   `json:"file,omitempty"`    // a file or socket that then exists
	Line    string   `json:"line,omitempty"`    // text in a line of its output
	Timeout int      `json:"timeout,omitempty"` // seconds; 0 is DefaultTimeout
}

// DefaultTimeout is how many seconds a service can take to become ready.
const DefaultTimeout = 10

// Seconds returns the timeout in force.
func (r Ready) Seconds() int { return cmp.Or(r.Timeout, DefaultTimeout) }

// Seconds returns the timeout in force.
func (a Await) Seconds() int { return cmp.Or(a.Timeout, DefaultTimeout) }

// An Exec is a command that runs in a place until it exits with status 0.
type Exec struct {
	Argv  []string `json:"argv"` // as in Service
	Env   []string `json:"env,omitempty"`
	Makes []string `json:"makes,omitempty"` // network devices that it leaves: "cni0", or "h1p1/eth0" in another place
	// Found is the name under which every result holds the first line that the command prints (on
	// stderr if stdout is empty): a version, or a daemon's choice.
	Found string `json:"found,omitempty"`
	// Keep is a name in lower-case letters: in later steps "{NAME}" stands for the first line
	// printed.
	Keep string `json:"keep,omitempty"`
	// Timeout is how many seconds the command can take, because a daemon that does not answer would
	// block it forever; 0 is ExecTimeout.
	Timeout int      `json:"timeout,omitempty"`
	Private []string `json:"private,omitempty"` // as in Service
	// Remedy ends the error if the command fails.
	Remedy string `json:"remedy,omitempty"`
	// Undo is a command that reverts this one, with the same Env. It runs when the network is
	// closed, before the services end and after the Undo of later steps, but not if weir is killed:
	// nothing that must not be left behind can depend on it.
	Undo []string `json:"undo,omitempty"`
}

// ExecTimeout is how many seconds a command can take. Docker's take one or two.
const ExecTimeout = 60

// Seconds returns the timeout in force.
func (e Exec) Seconds() int { return cmp.Or(e.Timeout, ExecTimeout) }

// An Adopt makes the network namespace of a daemon's process the namespace of a pod. Anything done
// in the pod before is lost.
type Adopt struct {
	Pod   string   `json:"pod"`
	PID   []string `json:"pid"`             // a command that prints the process ID, as in Exec
	Makes []string `json:"makes,omitempty"` // network devices that are in the namespace
}

// An Output is what a command must print: each of Lines is part of a separate line. It shows what
// daemons agreed on: a learned route, or the path of a tunnel.
type Output struct {
	Argv  []string `json:"argv"` // as in Service; it must succeed
	Lines []string `json:"lines"`
}

// Check returns an error that names the first of Lines that out lacks.
func (o Output) Check(out string) error {
	left := strings.Split(strings.Trim(out, "\n"), "\n") // keep spaces: they distinguish "eth0 " from "eth01 "
	for _, want := range o.Lines {
		i := slices.IndexFunc(left, func(line string) bool { return strings.Contains(line, want) })
		if i < 0 {
			return fmt.Errorf("%s: no line, or too few, with %q in %q", strings.Join(o.Argv, " "), want, strings.TrimSpace(out))
		}
		left = slices.Delete(left, i, i+1)
	}
	return nil
}

// An Await waits until a command prints the expected output. It is a separate step because services
// that look for each other must all start before any wait.
type Await struct {
	Output
	Timeout int `json:"timeout,omitempty"` // seconds; 0 is DefaultTimeout
}

// Awaits returns the steps that wait.
func (p Plan) Awaits() (steps []Step) {
	for _, s := range p.Steps {
		if s.Await != nil {
			steps = append(steps, s)
		}
	}
	return steps
}

// A File is a file in the state directory of a place.
type File struct {
	Name    string `json:"name"`           // below Dir; missing directories are made
	Content string `json:"content"`        // {ca} or {identity} alone stands for certificates, see CA
	Mode    uint32 `json:"mode,omitempty"` // permission bits; 0 is 0644
}

// A plan holds no keys: they are made when it is applied. As the content of a File, CA stands for the certificate of the
// network's own authority, and Identity for a new key and its certificate by that authority, for TLS at either end, both
// in the form of PEM. The authority's key is nowhere in a file.
const (
	CA       = "{ca}"
	Identity = "{identity}"
	// IdentityName is the name in the certificates: an address can change on the path.
	IdentityName = "weir.test"
)

// Perm returns the mode in force.
func (f File) Perm() uint32 { return cmp.Or(f.Mode, 0o644) }

// A Move moves a device, without addresses and routes, to another place and brings it up there.
type Move struct {
	Dev string `json:"dev"`
	To  string `json:"to"` // host or pod
	As  string `json:"as"` // its name there
	MTU int    `json:"mtu,omitempty"`
}

// A Guest replaces the pod In with the inside of a virtual machine that a Service runs; later steps
// and programs of the pod run there. The step is done when the guest accepts requests.
type Guest struct {
	Host   string   `json:"host"`          // the host that runs the service
	Socket string   `json:"socket"`        // Unix socket of the service, below its Dir
	Makes  []string `json:"makes"`         // network devices that the guest has
	Tap    string   `json:"tap,omitempty"` // the device of Host that leads to them; "": the plan's other steps say it
}

// Inside replaces the pod In with a new network namespace inside a guest: a container in a virtual
// machine.
type Inside struct {
	Guest string `json:"guest"` // the place that the guest replaced
}

// Expand returns words with every {name} replaced by its value.
func Expand(values map[string]string, words ...string) []string {
	out := slices.Clone(words)
	for i := range out {
		for name, v := range values {
			out[i] = strings.ReplaceAll(out[i], "{"+name+"}", v)
		}
	}
	return out
}

// stateful reports whether the step needs the state directory of its place.
func (s Step) stateful() bool {
	return s.Service != nil || s.Exec != nil || s.File != nil || s.Adopt != nil || s.Await != nil
}

// Programs returns the programs that must be installed to build p, sorted and without weir.
func (p Plan) Programs() []string {
	var names []string
	add := func(argv []string) {
		if len(argv) > 0 && argv[0] != "weir" {
			names = append(names, argv[0])
		}
	}
	for _, s := range p.Steps {
		if s.Service != nil {
			add(s.Service.Argv)
			add(s.Service.Ready.Argv)
		}
		if s.Exec != nil {
			add(s.Exec.Argv)
		}
		if s.Adopt != nil {
			add(s.Adopt.PID)
		}
		if s.Await != nil {
			add(s.Await.Argv)
		}
	}
	for _, e := range p.Expect {
		if e.Output != nil {
			add(e.Output.Argv)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// Daemons returns the places that run a Service, sorted.
func (p Plan) Daemons() []string {
	var names []string
	for _, s := range p.Steps {
		if s.Service != nil {
			names = append(names, s.In)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}
