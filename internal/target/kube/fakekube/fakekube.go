// Package fakekube is a kubectl with a scripted cluster behind it. Only tests may import it.
//
// The test binary is that kubectl when its name is (Main). It knows the few calls of package kube,
// fails others, and runs the program of a pod when something attaches to it. Truth about Kubernetes needs
// a real cluster; this one reaches every error.
package fakekube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// An Object is any object of the cluster.
type Object map[string]any

// A State is everything that the cluster knows. Tests change it.
type State struct {
	Contexts   []string // the first one is the current one
	Nodes      []Object
	Namespaces map[string]map[string]string // their labels by name
	Made       map[string]string            // when, by name
	Denied     []string                     // permissions, as "create pods/attach"
	Fail       []Failure
	Warning    string            // on standard error of every call
	IP         string            // of all pods, which are processes of this machine
	Status     map[string]Object // of pods that do not run, by component label
	NoPods     bool              // Jobs do not get any
	Events     map[string]string // a warning by the name of an object
	DaemonSets []string          // images
	Proxy      string            // config.conf of kube-proxy
	Limits     []Object          // of the namespace, each in a LimitRange of its own
	Class      string            // the default StorageClass; "" is none
	Objects    map[string]Object // of runs, by kind/name
	Calls      []string          // so far
}

// A Failure fails calls whose arguments contain Call: Said goes to standard error, or, where the call
// seems to succeed, Printed to standard output.
type Failure struct {
	Call, Said, Printed string
	Times               int // 0: always
}

// A Cluster is a State in a file.
type Cluster struct{ dir string }

const variable = "FAKEKUBE"

// Start makes a cluster with the nodes node1 and node2 and puts its kubectl on PATH.
func Start(t testing.TB) Cluster {
	t.Helper()
	c := Cluster{t.TempDir()}
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(c.dir, "kubectl"))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(variable, c.dir)
	t.Setenv("PATH", c.dir+":"+os.Getenv("PATH"))
	c.Set(t, func(s *State) {
		*s = State{Contexts: []string{"test"}, Nodes: []Object{Node("node1", ""), Node("node2", "")}, IP: "127.0.0.1",
			Namespaces: map[string]map[string]string{"default": {}}, Objects: map[string]Object{}}
	})
	return c
}

// Node returns a node that is ready, in a zone.
func Node(name, zone string) Object {
	labels := Object{}
	if zone != "" {
		labels["topology.kubernetes.io/zone"] = zone
	}
	return Object{"metadata": Object{"name": name, "labels": labels}, "spec": Object{},
		"status": Object{"conditions": []Object{{"type": "Ready", "status": "True"}},
			"addresses": []Object{{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": name}},
			"nodeInfo":  Object{"kernelVersion": osrelease(), "containerRuntimeVersion": "containerd://1.6.20", "operatingSystem": "linux"}}}
}

func osrelease() string {
	var u syscall.Utsname
	_ = syscall.Uname(&u)
	var b []byte
	for _, c := range u.Release {
		if c != 0 {
			b = append(b, byte(c))
		}
	}
	return string(b)
}

// Set changes the state.
func (c Cluster) Set(t testing.TB, f func(*State)) {
	t.Helper()
	if err := c.change(func(s *State) error { f(s); return nil }); err != nil {
		t.Fatal(err)
	}
}

// State returns the state.
func (c Cluster) State(t testing.TB) (now State) {
	t.Helper()
	c.Set(t, func(s *State) { now = *s })
	return now
}

// Attached returns the kubectl that is attached to a pod.
func (c Cluster) Attached(t testing.TB, pod string) (pid int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(c.dir, pod+".pid"))
	if err == nil {
		_, err = fmt.Sscan(string(b), &pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// change reads, changes and writes the state while no other process does.
func (c Cluster) change(f func(*State) error) error {
	lock, err := os.OpenFile(filepath.Join(c.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	name, s := filepath.Join(c.dir, "state"), State{}
	if b, err := os.ReadFile(name); err == nil {
		err = json.Unmarshal(b, &s)
		if err != nil {
			return err
		}
	}
	said := f(&s)
	b, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(name, b, 0o600)
	}
	return errors.Join(said, err)
}

// Main is kubectl. It returns its exit status.
func Main(args []string) int {
	c := Cluster{os.Getenv(variable)}
	var out []byte
	var program []string
	err := c.change(func(s *State) (err error) {
		s.Calls = append(s.Calls, strings.Join(args, " "))
		if s.Warning != "" {
			fmt.Fprintln(os.Stderr, s.Warning)
		}
		for i := range s.Fail {
			if f := &s.Fail[i]; strings.Contains(strings.Join(args, " "), f.Call) && f.Times >= 0 {
				if f.Times > 0 {
					if f.Times--; f.Times == 0 {
						f.Times = -1
					}
				}
				if f.Printed != "" {
					out = []byte(f.Printed)
					return nil
				}
				return errors.New(f.Said)
			}
		}
		out, program, err = s.call(parse(args))
		return err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if program != nil {
		if err := c.run(program); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	_, _ = os.Stdout.Write(out)
	return 0
}

// run runs the program of a pod, whose name is program[0], at the end of two pipes: it hears the end of
// this process, as one in a pod does. SIGTERM ends the pipes and waits for it.
func (c Cluster) run(program []string) error {
	cmd := exec.Command(program[1], program[2:]...)
	if program[1] == "/weir" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd = &exec.Cmd{Path: self, Args: append([]string{"weir"}, program[2:]...)}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = struct{ io.Writer }{os.Stdout}, struct{ io.Writer }{os.Stderr} // no descriptors
	if err := cmd.Start(); err != nil {
		return err
	}
	torn := make(chan os.Signal, 1)
	signal.Notify(torn, syscall.SIGTERM)
	go func() {
		<-torn
		in.Close()
	}()
	go func() {
		_, _ = io.Copy(in, os.Stdin) // the program can end first
		in.Close()
	}()
	err = os.WriteFile(filepath.Join(c.dir, program[0]+".pid"), fmt.Append(nil, os.Getpid()), 0o600)
	return errors.Join(err, cmd.Wait())
}

// A call is a command line, taken apart.
type call struct {
	words []string
	flags map[string]string
}

func parse(args []string) call {
	c := call{flags: map[string]string{}}
	for i := 0; i < len(args); i++ {
		switch name, value, has := strings.Cut(args[i], "="); {
		case !strings.HasPrefix(name, "-") || name == "-":
			c.words = append(c.words, args[i])
		case has:
			c.flags[name] = value
		case name == "-o" || name == "-l" || name == "-f":
			i++
			c.flags[name] = args[i]
		default:
			c.flags[name] = "true"
		}
	}
	return c
}

func (s *State) call(c call) (out []byte, program []string, err error) {
	if context := c.flags["--context"]; context != "" && !strings.Contains(" "+strings.Join(s.Contexts, " ")+" ", " "+context+" ") {
		return nil, nil, fmt.Errorf("error: context %q does not exist", context)
	}
	var answer any
	switch c.words[0] {
	case "version":
		answer = Object{"clientVersion": Object{"gitVersion": "v1.32.0"}, "serverVersion": Object{"gitVersion": "v1.33.13"}}
	case "config":
		if c.words[1] == "current-context" {
			return []byte(s.Contexts[0] + "\n"), nil, nil
		}
		return []byte(strings.Join(s.Contexts, "\n") + "\n"), nil, nil
	case "get":
		answer, err = s.get(c)
	case "create":
		out, err = s.create(c)
		return out, nil, err
	case "delete":
		s.delete(c)
		return nil, nil, nil
	case "label":
		err = s.label(strings.TrimPrefix(c.words[2], "pod/"), c.words[3])
	case "attach":
		program, err = s.attach(strings.TrimPrefix(c.words[1], "pod/"))
		return nil, program, err
	case "exec":
		pod := strings.TrimPrefix(c.words[1], "pod/")
		if _, err = s.attach(pod); err != nil {
			return nil, nil, err
		}
		return nil, append([]string{pod}, c.words[2:]...), nil
	default:
		err = fmt.Errorf("error: unknown command %q", c.words[0])
	}
	if err != nil {
		return nil, nil, err
	}
	out, err = json.Marshal(answer)
	return out, nil, err
}
