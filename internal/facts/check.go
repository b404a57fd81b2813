package facts

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/sample"
)

// A Check is one requirement or recommendation for a host.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`        // the finding
	Fix    string `json:"fix,omitempty"` // the remedy if not OK
}

// Bounds of other activity that does not disturb a measurement.
const (
	quietLoad  = 0.25 // running processes per CPU, mean of a minute
	quietSteal = 0.01 // share of CPU time since boot
)

// Checks examines the host whose "/" is root and whose facts are f, always in the same order. It
// only reads; package lab tests whether devices can be created.
func Checks(root fs.FS, f Facts) []Check {
	cs := []Check{
		userNamespaces(root, f),
		// The mainline kernel lacks this switch.
		restriction(root, f, "user namespaces without root", "kernel.unprivileged_userns_clone", "0"),
		// Ubuntu's restriction: namespaces can be created, but grant no privileges.
		restriction(root, f, "user namespaces under AppArmor", "kernel.apparmor_restrict_unprivileged_userns", "1"),
		bridgeNetfilter(root),
	}
	return append(fixed(cs), Quiet(root, f)...)
}

// Quiet is the part of Checks that concerns measuring, on a host where weir builds nothing.
func Quiet(root fs.FS, f Facts) []Check {
	return fixed([]Check{cpus(f), limited(f), loadAverage(f), governor(f), steal(root), pageLists(root), differing(f)})
}

// fixed keeps the remedies of checks that are not OK, and removes the others.
func fixed(cs []Check) []Check {
	for i := range cs {
		if cs[i].OK {
			cs[i].Fix = ""
		}
	}
	return cs
}

// userNamespaces checks the first requirement of a lab without root.
func userNamespaces(root fs.FS, f Facts) Check {
	c := Check{Name: "user namespaces"}
	v, ok := f.Sysctls["user.max_user_namespaces"]
	n, err := strconv.Atoi(v)
	switch {
	case !ok:
		c.Detail = "not supported by the kernel: user.max_user_namespaces is missing"
		c.Fix = "use a kernel with CONFIG_USER_NS, or run as root"
	case err != nil:
		c.Detail = fmt.Sprintf("user.max_user_namespaces is %q", v)
		c.Fix = "sudo sysctl -w user.max_user_namespaces=10000"
	case n == 0:
		c.Detail = "user.max_user_namespaces is 0: none can be created"
		c.Fix = "sudo sysctl -w user.max_user_namespaces=10000, or run as root"
	default:
		c.OK, c.Detail = true, "up to "+v+" (user.max_user_namespaces)"
	}
	if !c.OK && sysAdmin(root) {
		c.OK, c.Detail = true, c.Detail+"; root needs none"
	}
	return c
}

// restriction checks that a sysctl does not have the value bad, unless the process is privileged.
func restriction(root fs.FS, f Facts, name, key, bad string) Check {
	v, ok := f.Sysctls[key]
	switch {
	case !ok:
		return Check{Name: name, OK: true, Detail: "not restricted: this kernel has no " + key}
	case v != bad:
		return Check{Name: name, OK: true, Detail: "not restricted: " + key + " is " + v}
	case sysAdmin(root):
		return Check{Name: name, OK: true, Detail: key + " is " + v + ", which does not apply to root"}
	}
	good := map[string]string{"0": "1", "1": "0"}[bad]
	return Check{Name: name, Detail: key + " is " + v, Fix: "sudo sysctl -w " + key + "=" + good + ", or run as root"}
}

// capSysAdmin is the bit of CAP_SYS_ADMIN (include/uapi/linux/capability.h).
const capSysAdmin = 21

// sysAdmin reports whether this process can create namespaces regardless of restrictions.
func sysAdmin(root fs.FS) bool {
	for key, hex := range pairs(root, "proc/self/status", ":") {
		if key == "CapEff" {
			caps, err := strconv.ParseUint(hex, 16, 64)
			return err == nil && caps>>capSysAdmin&1 == 1
		}
	}
	return false
}

func cpus(f Facts) Check {
	return Check{Name: "CPUs", OK: f.CPUs > 1, Detail: fmt.Sprintf("%d online", f.CPUs),
		Fix: "use a machine with at least 2 CPUs: on a single CPU, programs wait for each other and for the kernel's network work"}
}

func loadAverage(f Facts) Check {
	if len(f.Load) == 0 || f.CPUs == 0 {
		return Check{Name: "idle", Detail: "the load average is unknown", Fix: "mount /proc"}
	}
	bound := quietLoad * float64(f.CPUs)
	return Check{Name: "idle", OK: f.Load[0] <= bound,
		Detail: fmt.Sprintf("load average %.2f over the last minute; CPUs: %d", f.Load[0], f.CPUs),
		Fix:    fmt.Sprintf("stop other programs, or wait, until it is at most %.2f", bound)}
}

// limited checks that no control group stops what is measured: a container's limit, or one that a cluster's namespace
// gives every container.
func limited(f Facts) Check {
	if f.CPULimit == 0 {
		return Check{Name: "CPU limit", OK: true, Detail: "none that this process sees"}
	}
	return Check{Name: "CPU limit", Detail: fmt.Sprintf("a control group allows %g of %d CPUs, and has stopped its programs in %d periods so far", f.CPULimit, f.CPUs, f.Throttled),
		Fix: "remove it (cpu.max; in Kubernetes the container's CPU limit, or the LimitRange of the namespace that sets one); requests can stay"}
}

// governor names the frequency governors of all CPUs.
func (f Facts) governor() string {
	return strings.Join(slices.Sorted(maps.Keys(f.Governors)), ", ")
}

func governor(f Facts) Check {
	names := f.governor()
	return Check{Name: "frequency governor", OK: names == "" || names == "performance",
		Detail: cmp.Or(names, "none: the kernel does not set the frequency"),
		Fix:    "sudo cpupower frequency-set -g performance (package linux-cpupower in Debian, linux-tools-common in Ubuntu)"}
}

func steal(root fs.FS) Check {
	t, errs := sample.Named(root, sample.OfStat)
	if len(errs) > 0 {
		return Check{Name: "steal", Detail: errs[0].Error(), Fix: "mount /proc"}
	}
	total := 0.0
	for name, v := range t {
		if strings.HasPrefix(name, "cpu.") {
			total += v
		}
	}
	share := 0.0
	if total > 0 {
		share = t["cpu.steal"] / total
	}
	return Check{Name: "steal", OK: share <= quietSteal,
		Detail: fmt.Sprintf("the hypervisor took %.2f %% of the CPU time since boot", share*100),
		Fix:    "measure on a dedicated host or with dedicated CPUs: other guests change the result"}
}

// pageLists checks whether the kernel resizes its per-CPU lists of free pages at run time. Linux
// does since 6.7 (mm/page_alloc.c, nr_pcp_high) if the two bounds differ (/proc/zoneinfo). TCP
// allocates pages on one CPU and frees them on another. Throughput drifted less with lists of a fixed
// size (docs/lab/2026-11-short-trials.md), but its large changes have other causes (ADR 60).
func pageLists(root fs.FS) Check {
	c := Check{Name: "page lists", OK: true, Detail: "fixed size, as far as the kernel reports"}
	low := ""
	for key, v := range pairs(root, "proc/zoneinfo", ":") { // only root can read it on some systems
		switch {
		case key == "high_min":
			low = v
		case key == "high_max" && v != low:
			return Check{Name: c.Name, Detail: "the kernel resizes them at run time; TCP throughput drifted less with lists of a fixed size",
				Fix: "to reduce the drift: sudo sysctl -w vm.percpu_pagelist_high_fraction=100; 0 undoes it"}
		}
	}
	return c
}

// bridgeNetfilter checks whether bridges can pass packets to netfilter. Plans state whether they
// do, so this is a note for networks that stand for Docker or Kubernetes.
func bridgeNetfilter(root fs.FS) Check {
	c := Check{Name: "br_netfilter", OK: true, Detail: "bridges can pass packets to netfilter: each plan states whether its bridges do, and the factor bridge-nf varies it"}
	if text(root, sysctlPath("net.bridge.bridge-nf-call-iptables")) == "" {
		c.OK, c.Detail = false, "not in the kernel: no bridge passes packets to netfilter, not even in networks of Docker and Kubernetes, which rely on it"
		c.Fix = "sudo modprobe br_netfilter"
	}
	return c
}

// differing lists the settings that are not the kernel's defaults. None is wrong, but two machines that
// differ in them differ in results.
func differing(f Facts) Check {
	c := Check{Name: "settings", OK: true, Detail: "all that are known to move results are the kernel's defaults"}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f.Settings)) {
		all = append(all, fmt.Sprintf("%s is %s (default %s)", name, f.Settings[name].Value, f.Settings[name].Default))
	}
	if len(all) > 0 {
		c.Detail = "not the kernel's defaults: " + strings.Join(all, "; ")
	}
	return c
}
