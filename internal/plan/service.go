package plan

import (
	"slices"
	"strings"
)

// Dir stands for the state directory of a place wherever a Service, an Exec or
// the content of a File names a path: "{dir}/db.sock". It belongs to this place
// of this network alone and is empty when the first step runs. Where it is, is
// the target's business; it is short, for the path of a Unix socket holds 107
// bytes (unix(7)).
const Dir = "{dir}"

// A Service is a daemon that runs in a place from its step on until the network
// is closed. It must stay in the foreground. The step is done when the service is
// ready; a service that ends before the network does makes its trials fail.
type Service struct {
	Name  string   `json:"name"` // of the service in messages, and of its log
	Argv  []string `json:"argv"` // never given to a shell; the program "weir" is this program
	Env   []string `json:"env,omitempty"`
	Opens []string `json:"opens,omitempty"` // device files that it needs: /dev/net/tun, /dev/kvm
	Ready Ready    `json:"ready"`
	Makes []string `json:"makes,omitempty"` // network devices that are in the place when it is ready
}

// Ready is how a Service is known to be ready. One of the first three is set.
type Ready struct {
	Argv    []string `json:"argv,omitempty"`    // a command that succeeds, with the Env of the service
	File    string   `json:"file,omitempty"`    // a file or socket that exists
	Line    string   `json:"line,omitempty"`    // what a line of its output contains
	Timeout int      `json:"timeout,omitempty"` // seconds; 0 is DefaultTimeout
}

// DefaultTimeout is how long a service may take to become ready, seconds.
const DefaultTimeout = 10

// Seconds returns the time-out in force.
func (r Ready) Seconds() int {
	if r.Timeout == 0 {
		return DefaultTimeout
	}
	return r.Timeout
}

// An Exec is a command that runs in a place to its end, which must be a good one.
type Exec struct {
	Argv  []string `json:"argv"` // as in Service
	Env   []string `json:"env,omitempty"`
	Makes []string `json:"makes,omitempty"` // network devices that are in the place when it has ended
	// Found is the name under which every result of the network holds the first
	// line that the command prints: a version, or a choice that a daemon made.
	Found string `json:"found,omitempty"`
}

// A File is written to the state directory of a place.
type File struct {
	Name    string `json:"name"` // below Dir; directories are made
	Content string `json:"content"`
	Mode    uint32 `json:"mode,omitempty"` // permission bits; 0 is 0644
}

// Perm returns the mode in force.
func (f File) Perm() uint32 {
	if f.Mode == 0 {
		return 0o644
	}
	return f.Mode
}

// A Move takes a device, and all that is its own but for addresses and routes,
// to another place, and sets it up there.
type Move struct {
	Dev string `json:"dev"`
	To  string `json:"to"` // host or pod
	As  string `json:"as"` // its name there
	MTU int    `json:"mtu,omitempty"`
}

// A Guest makes the pod In the inside of a virtual machine that a Service runs.
// From this step on, what is done and what programs run in the pod is done and
// runs there; the step is done when the guest takes orders.
type Guest struct {
	Host   string   `json:"host"`   // that the service runs on
	Socket string   `json:"socket"` // Unix socket of the service, below its Dir
	Makes  []string `json:"makes"`  // network devices that the guest has
}

// Expand returns words with dir in place of Dir.
func Expand(dir string, words ...string) []string {
	out := slices.Clone(words)
	for i, w := range out {
		out[i] = strings.ReplaceAll(w, Dir, dir)
	}
	return out
}

// stateful reports whether the step needs the state directory of its place.
func (s Step) stateful() bool { return s.Service != nil || s.Exec != nil || s.File != nil }

// Programs returns the programs that p starts and that are not this one, sorted:
// what has to be installed.
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
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Daemons returns the places that have a Service, sorted.
func (p Plan) Daemons() []string {
	var names []string
	for _, s := range p.Steps {
		if s.Service != nil {
			names = append(names, s.In)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
