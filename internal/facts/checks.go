package facts

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// A Check is one line of what can run here.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Needed bool   `json:"needed"` // without it the default study cannot run
	Detail string `json:"detail,omitempty"`
	Fix    string `json:"fix,omitempty"` // what would change it
}

// Checks looks at what decides whether and how well a lab can run.
func Checks(root fs.FS) []Check {
	f := Collect(root)
	return []Check{
		{Name: "kernel", OK: f.Kernel != "", Detail: strings.TrimSpace(f.Kernel + " " + f.Distribution)},
		sysctl(root, "user.max_user_namespaces", "15000", func(v string) bool { return v != "0" }),
		sysctl(root, "kernel.unprivileged_userns_clone", "1", func(v string) bool { return v != "0" }),
		sysctl(root, "kernel.apparmor_restrict_unprivileged_userns", "0", func(v string) bool { return v != "1" }),
		cpus(f),
		load(f),
		governor(f),
	}
}

// sysctl checks one of the settings that forbid namespaces to ordinary users. A
// kernel that does not have it does not forbid them. Root needs none of them.
func sysctl(root fs.FS, key, want string, ok func(string) bool) Check {
	v := text(root, "proc/sys/"+strings.ReplaceAll(key, ".", "/"))
	c := Check{Name: key, OK: v == "" || ok(v), Detail: v}
	if v == "" {
		c.Detail = "this kernel does not have it"
	}
	if !c.OK {
		c.Detail += ": ordinary users may not make namespaces"
		c.Fix = fmt.Sprintf("run as root, or as root once: sysctl -w %s=%s", key, want)
	}
	return c
}

func cpus(f Facts) Check {
	c := Check{Name: "CPUs", OK: f.CPUs > 1, Detail: fmt.Sprintf("%d × %s", f.CPUs, f.CPU)}
	if !c.OK {
		c.Fix = "both ends share one CPU: use a machine with more"
	}
	return c
}

// load warns when somebody else uses the machine: more than a tenth of its CPUs.
func load(f Facts) Check {
	c := Check{Name: "load", OK: true, Detail: f.Load}
	one, err := strconv.ParseFloat(strings.Join(firstFields(f.Load, 1), ""), 64)
	if err == nil && one > 0.1*float64(max(1, f.CPUs)) {
		c.OK = false
		c.Fix = "end what else runs here: it widens every interval"
	}
	return c
}

func governor(f Facts) Check {
	c := Check{Name: "CPU governor", OK: f.Governor == "" || f.Governor == "performance", Detail: f.Governor}
	if f.Governor == "" {
		c.Detail = "none: the frequency is not set by this kernel"
	}
	if !c.OK {
		c.Fix = "as root: cpupower frequency-set -g performance"
	}
	return c
}
