package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// traces are what a run has in the kernel, found through its processes.
type traces struct {
	processes map[string]string // by process ID, the start time: the ID of an ended process is reused
	mounts    string            // the mounts of this process before the run
	cgroups   map[string]bool   // control groups of the run, below /sys/fs/cgroup
}

// traces waits for up, and collects the traces of p: the processes in its namespaces, because
// programs in a container do not have weir's environment.
func (p *process) traces(t *testing.T, up func() bool) traces {
	t.Helper()
	seen := traces{map[string]string{}, nsMounts(t), map[string]bool{}}
	// A run that never comes up has ended and printed why.
	within(t, slow, "there is a result", func() bool { return up() || len(withEnv(p.mark)) == 0 })
	own := namespaces("self")
	its := map[string]bool{}
	for _, line := range withEnv(p.mark) {
		pid, _, _ := strings.Cut(line, ":")
		for _, ns := range namespaces(pid) {
			its[ns] = !slices.Contains(own, ns)
		}
	}
	procs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is a constant
	for _, dir := range procs {
		pid := filepath.Base(dir)
		if !slices.ContainsFunc(namespaces(pid), func(ns string) bool { return its[ns] }) {
			continue
		}
		seen.processes[pid] = started(pid)
		groups, _ := os.ReadFile(dir + "/cgroup") // the process may be gone
		for word := range strings.FieldsFuncSeq(string(groups), func(r rune) bool { return r == '/' || r == '\n' }) {
			if strings.HasPrefix(word, "weir-") {
				seen.cgroups[word] = true
			}
		}
	}
	return seen
}

func namespaces(pid string) (found []string) {
	links, _ := filepath.Glob("/proc/" + pid + "/ns/*")
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil { // the process may be gone
			found = append(found, to)
		}
	}
	return found
}

// started returns when a process started, in ticks since boot, or "" if it does not exist.
func started(pid string) string {
	b, _ := os.ReadFile("/proc/" + pid + "/stat")
	_, after, _ := strings.Cut(string(b), ") ") // the name before it can contain anything
	if f := strings.Fields(after); len(f) > 19 {
		return f[19] // field 22 of proc_pid_stat(5)
	}
	return ""
}

// nsMounts returns the mounts that weir makes, and those that would keep a namespace alive.
func nsMounts(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, "nsfs") || strings.Contains(line, "weir") {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}

func (seen traces) gone(t *testing.T) {
	t.Helper()
	for pid, since := range seen.processes {
		cmdline, _ := os.ReadFile("/proc/" + pid + "/cmdline") // empty if the process is gone, as it should be
		eventually(t, "process "+pid+" is gone: "+string(cmdline), func() bool { return since == "" || started(pid) != since })
	}
	if now := nsMounts(t); now != seen.mounts {
		t.Errorf("mounts are\n%s\nbut were\n%s", now, seen.mounts)
	}
	for name := range seen.cgroups {
		if left := groups(t, name); len(left) > 0 {
			t.Errorf("left control groups: %v", left)
		}
	}
}

// stateDirs are where daemons and weir could leave files: temporary directories, and the machine's
// own.
type stateDirs struct {
	tmp    string
	before []string
}

// machineFiles match the files that the daemons of the catalog write by default, some of them
// regardless of their options.
var machineFiles = []string{"/run/weir*", "/run/netns/*", "/run/docker*", "/run/containerd*", "/run/flannel*", "/run/bird*", "/run/openvswitch*",
	"/var/lib/cni*", "/var/lib/cni/*", "/var/lib/docker*", "/var/lib/docker/*", "/var/lib/docker/network/files/*", "/opt/cni*", "/opt/containerd*", "/etc/docker*", "/etc/cni*"}

// sockets is the directory for root's topologies, which other tests make meanwhile.
const sockets = "/run/weir-labs"

func newStateDirs(t *testing.T) stateDirs { return stateDirs{t.TempDir(), list(machineFiles...)} }

func list(patterns ...string) (names []string) {
	for _, p := range patterns {
		found, _ := filepath.Glob(p) // the patterns are constants
		names = append(names, found...)
	}
	return names
}

func (s stateDirs) env() []string {
	return []string{"TMPDIR=" + s.tmp, "XDG_RUNTIME_DIR=" + s.tmp}
}

func (s stateDirs) empty(t *testing.T) {
	t.Helper()
	for _, name := range list(append(machineFiles, s.tmp+"/*")...) {
		if !slices.Contains(s.before, name) && name != sockets {
			t.Errorf("left %s", name)
		}
	}
}
