package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
)

// An inventory is what a machine has, by kind, one fact per entry. Devices that a module brings to every network namespace
// are not in it, because the kernel keeps the modules that a network needs.
type inventory map[string][]string

// asked are the kinds that other programs list.
var asked = map[string]string{
	"links":     "ip -d -o link | grep -v '@NONE'",
	"addresses": "ip -o address",
	"routes":    "ip route show table all; ip -6 route show table all",
	"ip rules":  "ip rule; ip -6 rule",
	"qdiscs":    "tc qdisc",
	"nft":       "nft -s list ruleset",
	"iptables":  `for t in iptables ip6tables; do $t-legacy-save 2>/dev/null | grep -v '^#' | sed 's/\[[0-9:]*\]//'; done`,
	"xfrm":      "ip xfrm state; ip xfrm policy",
	"IPVS":      "cut -d' ' -f1-3 /proc/net/ip_vs; ipset save",
	"docker":    "docker ps -aq; docker network ls -q; docker volume ls -q; docker image ls -q",
	"ovs":       "ovs-vsctl show",
	"IPC":       "ipcs",
}

// listed are the kinds that the kernel's files list.
var listed = map[string]func() []string{
	"mounts": mounts, "sysctls": sysctls, "control groups": controlGroups, "BPF": bpfObjects,
	"processes": processes, "namespaces": ofProcesses, "sockets": listeners, "files": stateFiles,
}

// shared are the kinds in which a machine does not differ while nobody but this test changes it.
var shared = []string{"links", "addresses", "routes", "ip rules", "qdiscs", "nft", "iptables", "xfrm", "IPVS", "docker", "ovs", "mounts", "sysctls", "control groups", "BPF"}

// take lists some kinds, or all without any.
func take(kinds ...string) inventory {
	if kinds == nil {
		kinds = slices.Concat(slices.Collect(maps.Keys(asked)), slices.Collect(maps.Keys(listed)))
	}
	now := inventory{}
	for _, kind := range kinds {
		if look := listed[kind]; look != nil {
			now[kind] = look()
			continue
		}
		out, _ := exec.Command("sh", "-c", asked[kind]).Output() // a machine can lack the program, or what it asks
		now[kind] = strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	for _, facts := range now {
		slices.Sort(facts)
	}
	return now
}

// common are kinds that all namespaces have in common: what others take away meanwhile was theirs.
var common = []string{"control groups", "BPF"}

// differs returns what is missing and what is new.
func (was inventory) differs(now inventory) (all []string) {
	for _, kind := range slices.Sorted(maps.Keys(was)) {
		for _, fact := range was[kind] {
			if _, found := slices.BinarySearch(now[kind], fact); !found && !slices.Contains(common, kind) {
				all = append(all, kind+": - "+fact)
			}
		}
		for _, fact := range now[kind] {
			if _, found := slices.BinarySearch(was[kind], fact); !found && (kind != "sysctls" || was.has(fact)) {
				all = append(all, kind+": + "+fact)
			}
		}
	}
	return all
}

// has reports whether there was a sysctl of this name: modules bring new ones.
func (was inventory) has(sysctl string) bool {
	name, _, _ := strings.Cut(sysctl, "=")
	return slices.ContainsFunc(was["sysctls"], func(s string) bool { return strings.HasPrefix(s, name+"=") })
}

// same waits until the machine has again what it had. What others change meanwhile and change back does not count: only a
// difference that was there at first, and stays, does.
func (was inventory) same(t *testing.T) {
	t.Helper()
	if was == nil { // of a machine that others change
		return
	}
	kinds := slices.Collect(maps.Keys(was))
	diff := was.differs(take(kinds...))
	for late := time.Now().Add(patience); len(diff) > 0 && time.Now().Before(late); {
		time.Sleep(100 * time.Millisecond) // each look is a dozen processes; the kernel removes namespaces in its own time
		now := was.differs(take(kinds...))
		diff = slices.DeleteFunc(diff, func(d string) bool { return !slices.Contains(now, d) })
	}
	for _, d := range diff {
		t.Errorf("the machine is not as before: %s", d)
	}
}

func mounts() (all []string) {
	b, _ := os.ReadFile("/proc/self/mountinfo") // every process has one
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 3 { // without the numbers of the mount and what it is on
			all = append(all, strings.Join(f[2:], " "))
		}
	}
	return all
}

// counters are sysctls that count or adapt by themselves.
var counters = regexp.MustCompile(`^/proc/sys/(fs/(dentry-state|file-nr|inode-nr|inode-state|aio-nr|binfmt_misc/.*|quota/.*)|kernel/(random/.*|ns_last_pid|pty/nr|perf_event_max_sample_rate|perf_cpu_time_max_percent|sched_domain/.*)|net/netfilter/nf_conntrack_count|net/ipv4/tcp_fastopen_key|vm/(stat_refresh|drop_caches|compact_memory))$`)

func sysctls() (all []string) {
	_ = filepath.WalkDir("/proc/sys", func(name string, d fs.DirEntry, err error) error { // some cannot be read
		if err == nil && !d.IsDir() && !counters.MatchString(name) {
			if b, err := os.ReadFile(name); err == nil {
				all = append(all, name+"="+string(bytes.TrimSpace(b)))
			}
		}
		return nil
	})
	return all
}

func controlGroups() (all []string) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(name string, d fs.DirEntry, err error) error { // some go meanwhile
		if err == nil && d.IsDir() {
			all = append(all, name)
		}
		return nil
	})
	return all
}

// bpfObjects lists programs and maps, but for those with which systemd confines its services.
func bpfObjects() (all []string) {
	for id, err := ebpf.ProgramGetNextID(0); err == nil; id, err = ebpf.ProgramGetNextID(id) {
		if p, err := ebpf.NewProgramFromID(id); err == nil {
			info, err := p.Info()
			if err == nil && !strings.HasPrefix(info.Name, "sd_") {
				all = append(all, fmt.Sprintf("program %d, %s, %s", id, info.Type, info.Name))
			}
			p.Close()
		}
	}
	for id, err := ebpf.MapGetNextID(0); err == nil; id, err = ebpf.MapGetNextID(id) {
		all = append(all, fmt.Sprintf("map %d", id))
	}
	return all
}

// processes lists those of this PID namespace, but not what this process has just started.
func processes() (all []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is a constant
	for _, dir := range dirs {
		pid := filepath.Base(dir)
		comm, err := os.ReadFile(dir + "/comm")
		if since := started(pid); err == nil && since != "" {
			all = append(all, fmt.Sprintf("%s since %s: %s", pid, since, bytes.TrimSpace(comm)))
		}
	}
	return all
}

// ofProcesses lists the namespaces that processes are in; what else keeps some is a mount.
func ofProcesses() (all []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is a constant
	for _, dir := range dirs {
		all = append(all, namespaces(filepath.Base(dir))...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// listeners lists where programs of this network namespace listen, without the queues' counters.
func listeners() (all []string) {
	for name, columns := range map[string][]int{"tcp": {1, 3}, "tcp6": {1, 3}, "udp": {1}, "udp6": {1}, "raw": {1}, "raw6": {1}, "packet": {3, 4}, "unix": {5, 7}} {
		b, _ := os.ReadFile("/proc/net/" + name) // a kernel can lack one
		for i, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
			f, fact := strings.Fields(line), name
			if i == 0 || strings.HasPrefix(name, "tcp") && (len(f) < 4 || f[3] != "0A") || name == "unix" && len(f) < 8 { // 0A: listens; unix: without a name
				continue
			}
			for _, c := range columns {
				if c < len(f) {
					fact += " " + f[c]
				}
			}
			all = append(all, fact)
		}
	}
	return all
}

// stateFiles lists what is where programs keep their state, with size and time.
func stateFiles() (all []string) {
	for _, top := range []string{"/run", "/tmp", "/dev/shm", "/var/lib", "/var/log", "/var/tmp", "/etc", "/sys/fs/bpf"} {
		_ = filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return fs.SkipDir
			}
			if info, err := d.Info(); err == nil {
				fact := name + " " + info.Mode().String()
				if !d.IsDir() {
					fact += fmt.Sprintf(" %d bytes of %v", info.Size(), info.ModTime())
				}
				all = append(all, fact)
			}
			return nil
		})
	}
	return all
}
