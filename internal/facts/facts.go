// Package facts describes a host: what a reader of a result needs to judge it,
// and what a user needs to know before a run. It reads and asks for versions;
// it must not change or measure anything.
package facts

import (
	"bufio"
	"bytes"
	"io/fs"
	"path"
	"strings"
)

// Facts is what a host is.
type Facts struct {
	Weir         string            `json:"weir,omitempty"` // version of this program
	Kernel       string            `json:"kernel"`         // release
	Build        string            `json:"build"`          // of the kernel
	Distribution string            `json:"distribution,omitempty"`
	Machine      string            `json:"machine,omitempty"` // product, as DMI says
	CPU          string            `json:"cpu,omitempty"`
	CPUs         int               `json:"cpus"`
	Virtual      bool              `json:"virtual"` // the CPU says that it runs under a hypervisor
	Governor     string            `json:"governor,omitempty"`
	SMT          string            `json:"smt,omitempty"`
	Clocksource  string            `json:"clocksource,omitempty"`
	Memory       string            `json:"memory,omitempty"`
	Load         string            `json:"load,omitempty"` // averages over 1, 5 and 15 minutes
	Rootless     bool              `json:"rootless"`       // weir ran without root
	Sysctl       map[string]string `json:"sysctl,omitempty"`
	Mitigations  map[string]string `json:"mitigations,omitempty"`
	Tools        map[string]string `json:"tools,omitempty"` // version by program
}

// sysctls are the settings that change what a network costs.
var sysctls = []string{
	"net.core.rmem_max", "net.core.wmem_max", "net.core.rmem_default", "net.core.wmem_default",
	"net.core.netdev_max_backlog", "net.core.default_qdisc", "net.core.busy_poll",
	"net.ipv4.tcp_congestion_control", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
	"kernel.unprivileged_userns_clone", "user.max_user_namespaces", "kernel.apparmor_restrict_unprivileged_userns",
}

// Collect reads what root, the host's "/", tells. What is not there is left out.
func Collect(root fs.FS) Facts {
	f := Facts{
		Kernel:       text(root, "proc/sys/kernel/osrelease"),
		Build:        text(root, "proc/sys/kernel/version"),
		Distribution: osRelease(root),
		Machine:      strings.TrimSpace(text(root, "sys/class/dmi/id/sys_vendor") + " " + text(root, "sys/class/dmi/id/product_name")),
		Governor:     text(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		SMT:          text(root, "sys/devices/system/cpu/smt/control"),
		Clocksource:  text(root, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
		Load:         strings.Join(firstFields(text(root, "proc/loadavg"), 3), " "),
		Sysctl:       map[string]string{},
		Mitigations:  map[string]string{},
	}
	for _, k := range sysctls {
		if v := text(root, "proc/sys/"+strings.ReplaceAll(k, ".", "/")); v != "" {
			f.Sysctl[k] = strings.Join(strings.Fields(v), " ")
		}
	}
	f.cpuinfo(root)
	if m := firstFields(field(root, "proc/meminfo", "MemTotal"), 2); len(m) > 0 {
		f.Memory = strings.Join(m, " ")
	}
	const bugs = "sys/devices/system/cpu/vulnerabilities"
	entries, _ := fs.ReadDir(root, bugs) // absent on other machines
	for _, e := range entries {
		if v := text(root, path.Join(bugs, e.Name())); v != "" && v != "Not affected" {
			f.Mitigations[e.Name()] = v
		}
	}
	return f
}

func (f *Facts) cpuinfo(root fs.FS) {
	b, err := fs.ReadFile(root, "proc/cpuinfo")
	if err != nil {
		return
	}
	s := bufio.NewScanner(bytes.NewReader(b))
	for s.Scan() {
		key, value, _ := strings.Cut(s.Text(), ":")
		switch strings.TrimSpace(key) {
		case "processor":
			f.CPUs++
		case "model name":
			f.CPU = strings.TrimSpace(value)
		case "flags":
			f.Virtual = f.Virtual || strings.Contains(value+" ", " hypervisor ")
		}
	}
}

func osRelease(root fs.FS) string {
	b, _ := fs.ReadFile(root, "etc/os-release") // absent in a bare container
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	return ""
}

// text returns a file of one value, or "".
func text(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// field returns the value of a line "key: value".
func field(root fs.FS, name, key string) string {
	for line := range strings.Lines(text(root, name)) {
		if v, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func firstFields(s string, n int) []string {
	f := strings.Fields(s)
	return f[:min(n, len(f))]
}
