package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// traces are what a run has in the kernel, found by its processes.
type traces struct {
	processes map[string]string // by their number, since when: that of one that has ended is used again
	mounts    string            // those of this process, before the run
	cgroups   map[string]bool   // of its own, below /sys/fs/cgroup
}

// traces waits until up says so, and looks at what p has. Processes are those in its
// namespaces: what a container runs has nothing of the environment of weir.
func (p *process) traces(t *testing.T, up func() bool) traces {
	t.Helper()
	seen := traces{map[string]string{}, nsMounts(t), map[string]bool{}}
	// A run that is never up has ended, and says why.
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
		groups, _ := os.ReadFile(dir + "/cgroup") // it may be gone by now
		for word := range strings.FieldsFuncSeq(string(groups), func(r rune) bool { return r == '/' || r == '\n' }) {
			if strings.HasPrefix(word, "weir-") {
				seen.cgroups[word] = true
			}
		}
	}
	return seen
}

// namespaces are those of a process.
func namespaces(pid string) (found []string) {
	links, _ := filepath.Glob("/proc/" + pid + "/ns/*")
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil { // it may be gone by now
			found = append(found, to)
		}
	}
	return found
}

// started is when a process was, in ticks since boot; empty when there is none.
func started(pid string) string {
	b, _ := os.ReadFile("/proc/" + pid + "/stat")
	_, after, _ := strings.Cut(string(b), ") ") // the name before may hold anything
	if f := strings.Fields(after); len(f) > 19 {
		return f[19] // field 22 of proc_pid_stat(5)
	}
	return ""
}

// nsMounts are the mounts that would keep a namespace, with those that weir makes.
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

// gone fails when something of a run that has ended is there.
func (seen traces) gone(t *testing.T) {
	t.Helper()
	for pid, since := range seen.processes {
		cmdline, _ := os.ReadFile("/proc/" + pid + "/cmdline") // empty when all is well
		eventually(t, "process "+pid+" is gone: "+string(cmdline), func() bool { return since == "" || started(pid) != since })
	}
	if now := nsMounts(t); now != seen.mounts {
		t.Errorf("mounts are\n%s\nwere\n%s", now, seen.mounts)
	}
	for name := range seen.cgroups {
		if left := groups(t, name); len(left) > 0 {
			t.Errorf("control groups are left: %v", left)
		}
	}
}

// stateDirs are where daemons and weir would leave files: temporary ones, and those
// of the machine.
type stateDirs struct {
	tmp    string
	before []string
}

// machineFiles are what the daemons of the catalog write unless they are told
// otherwise, and some also then.
var machineFiles = []string{"/run/weir*", "/run/netns/*", "/run/docker*", "/run/containerd*", "/run/flannel*", "/run/bird*", "/run/openvswitch*",
	"/var/lib/cni*", "/var/lib/cni/*", "/var/lib/docker*", "/var/lib/docker/*", "/var/lib/docker/network/files/*", "/opt/cni*", "/opt/containerd*", "/etc/docker*", "/etc/cni*"}

func newStateDirs(t *testing.T) stateDirs { return stateDirs{t.TempDir(), list(machineFiles...)} }

func list(patterns ...string) (names []string) {
	for _, p := range patterns {
		found, _ := filepath.Glob(p) // the patterns are right
		names = append(names, found...)
	}
	return names
}

// env makes a run use them.
func (s stateDirs) env() []string {
	return []string{"TMPDIR=" + s.tmp, "XDG_RUNTIME_DIR=" + s.tmp}
}

// empty fails when a run that has ended left files.
func (s stateDirs) empty(t *testing.T) {
	t.Helper()
	for _, name := range list(append(machineFiles, s.tmp+"/*")...) {
		if !slices.Contains(s.before, name) {
			t.Errorf("%s is left", name)
		}
	}
}
