package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Dir stands for the state directory of a place wherever a Service, an Exec or
// the content of a File names a path: "{dir}/db.sock". It belongs to this place
// of this network alone and is empty when the first step runs. Where it is, is
// the target's business; it is short, for the path of a Unix socket holds 107
// bytes (unix(7)).
const Dir = "{dir}"

// Cgroup stands for the name of a control group of the network's own, below the
// root of every hierarchy. It does not exist before a daemon makes it, and does
// not outlive weir.
const Cgroup = "{cgroup}"

// A Service is a daemon that runs in a place from its step on until the network
// is closed, in the directory Dir. It must stay in the foreground. The step is done
// when the service is ready; a service that ends before the network does makes its
// trials fail.
type Service struct {
	Name  string   `json:"name"` // of the service in messages, and of its log
	Argv  []string `json:"argv"` // never given to a shell; the program "weir" is this program
	Env   []string `json:"env,omitempty"`
	Opens []string `json:"opens,omitempty"` // device files that it needs: /dev/net/tun, /dev/kvm
	// Kernel is what it needs of the kernel, and ends without a word of or does
	// without: dummy, ipip, openvswitch, vxlan.
	Kernel []string `json:"kernel,omitempty"`
	Root   bool     `json:"root,omitempty"` // it must be root of the machine, not of a user namespace
	// Private directories of the machine are as they are, but what is written to
	// them is seen in the place alone, and ends with it.
	Private []string `json:"private,omitempty"`
	Ready   Ready    `json:"ready"`
	Makes   []string `json:"makes,omitempty"` // network devices that are in the place when it is ready
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
func (r Ready) Seconds() int { return cmp.Or(r.Timeout, DefaultTimeout) }

// Seconds returns the time-out in force.
func (a Await) Seconds() int { return cmp.Or(a.Timeout, DefaultTimeout) }

// An Exec is a command that runs in a place to its end, which must be a good one.
type Exec struct {
	Argv  []string `json:"argv"` // as in Service
	Env   []string `json:"env,omitempty"`
	Makes []string `json:"makes,omitempty"` // network devices that are there when it has ended: "cni0", or "h1p1/eth0" in another place
	// Found is the name under which every result of the network holds the first
	// line that the command prints, on stderr when it prints nothing else: a
	// version, or a choice that a daemon made.
	Found string `json:"found,omitempty"`
	// Keep is a name, of small letters; in the words of the steps that follow,
	// "{NAME}" stands for the first line that the command prints.
	Keep string `json:"keep,omitempty"`
	// Timeout is how many seconds the command may take: a daemon that runs and does
	// not answer would keep it for ever. 0 is ExecTimeout.
	Timeout int      `json:"timeout,omitempty"`
	Private []string `json:"private,omitempty"` // as in Service
	// Remedy is what to do when the command fails, for the end of the error.
	Remedy string `json:"remedy,omitempty"`
	// Undo is a command that undoes it, with the same Env. It runs when the network
	// is closed, before the services end and after the Undo of later steps. What is
	// killed undoes nothing, so that it must not be needed for nothing to be left.
	Undo []string `json:"undo,omitempty"`
}

// ExecTimeout is how long a command may take, seconds. Those of Docker take one or two.
const ExecTimeout = 60

// Seconds returns the time in force.
func (e Exec) Seconds() int { return cmp.Or(e.Timeout, ExecTimeout) }

// An Adopt makes the network namespace of a process that a daemon started a
// pod's. What was done in the pod before is gone.
type Adopt struct {
	Pod   string   `json:"pod"`
	PID   []string `json:"pid"`             // a command that prints the number of the process, as in Exec
	Makes []string `json:"makes,omitempty"` // network devices that are in it
}

// An Output is what a command must print: each of Lines is in a line of its own.
// It tells what daemons have agreed on: a route that one learned from another, or
// the path that a tunnel takes.
type Output struct {
	Argv  []string `json:"argv"` // as in Service; it succeeds
	Lines []string `json:"lines"`
}

// Check returns an error that names the first of Lines that out does not have.
func (o Output) Check(out string) error {
	left := strings.Split(strings.Trim(out, "\n"), "\n") // spaces stay, which tell "eth0 " from "eth01 "
	for _, want := range o.Lines {
		i := slices.IndexFunc(left, func(line string) bool { return strings.Contains(line, want) })
		if i < 0 {
			return fmt.Errorf("%s: no line, or too few, with %q in %q", strings.Join(o.Argv, " "), want, strings.TrimSpace(out))
		}
		left = slices.Delete(left, i, i+1)
	}
	return nil
}

// An Await is done when a command prints what it should. Services of several
// places that find each other are all started before they are waited for.
type Await struct {
	Output
	Timeout int `json:"timeout,omitempty"` // seconds; 0 is DefaultTimeout
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

// Expand returns words with values, by name, in place of the names in braces.
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
