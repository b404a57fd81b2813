// Package facts describes a host: kernel, CPU, memory, settings, and versions of measuring tools.
// Comparing numbers of two hosts requires knowing how they differ.
//
// It observes and never sets. It must not collect anything that can be secret: host names,
// addresses and the kernel command line, except for weir's own word in it. Package lab tests
// whether the kernel supports a device by creating one.
package facts

import (
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Facts describes a host. Fields that the host does not report are empty.
type Facts struct {
	Kernel        string            `json:"kernel,omitempty"`        // release: "6.18.44"
	KernelVersion string            `json:"kernelVersion,omitempty"` // build: "#1 SMP PREEMPT_DYNAMIC"
	Distribution  string            `json:"distribution,omitempty"`  // "Debian GNU/Linux 12 (bookworm)"
	Machine       string            `json:"machine,omitempty"`       // as uname(1) -m: x86_64, aarch64
	CPU           string            `json:"cpu,omitempty"`           // model
	CPUs          int               `json:"cpus"`                    // online, counting hyperthreads
	SMT           string            `json:"smt,omitempty"`           // on, off, forceoff, notsupported, notimplemented
	Governors     map[string]int    `json:"governors,omitempty"`     // frequency governor: number of CPUs
	Hypervisor    bool              `json:"hypervisor"`              // the CPU reports that it is virtual (x86 only)
	Guest         string            `json:"guest,omitempty"`         // one of weir's virtual machines: qemu-kvm, or qemu-tcg when it is emulated
	Product       string            `json:"product,omitempty"`       // vendor and product of the machine (DMI)
	Sandbox       string            `json:"sandbox,omitempty"`       // runtime with a kernel of its own: gvisor or kata
	Memory        uint64            `json:"memory"`                  // bytes
	CPULimit      float64           `json:"cpuLimit,omitempty"`      // cores that control groups allow; 0: no limit
	Throttled     uint64            `json:"throttled,omitempty"`     // periods in which the limit stopped this process or its groups
	Clocksource   string            `json:"clocksource,omitempty"`
	Load          []float64         `json:"load,omitempty"`        // processes running or waiting, means over 1, 5 and 15 minutes
	Mitigations   map[string]string `json:"mitigations,omitempty"` // of CPU vulnerabilities
	Sysctls       map[string]string `json:"sysctls,omitempty"`
	// Settings holds by name the settings known to move results that differ from the kernel's
	// defaults: empty if none does, nil in facts of older versions.
	Settings map[string]Setting `json:"settings"`
	// Devices holds network devices by name (SomeDevices). Collect leaves it empty; an agent fills it.
	Devices map[string]Device `json:"devices,omitempty"`
}

// GuestKey begins the word of the kernel command line that marks one of weir's virtual machines.
const GuestKey = "weir.guest="

// sysctls that change a network's cost, or what can be built without root.
var sysctls = []string{
	"kernel.apparmor_restrict_unprivileged_userns", // Ubuntu 23.10 and later
	"kernel.unprivileged_userns_clone",             // Debian's kernels up to 10, and others
	"net.core.default_qdisc",
	"net.core.netdev_max_backlog",
	"net.core.rmem_default",
	"net.core.rmem_max",
	"net.core.wmem_default",
	"net.core.wmem_max",
	"net.ipv4.tcp_congestion_control",
	"net.ipv4.tcp_rmem",
	"net.ipv4.tcp_wmem",
	"user.max_user_namespaces",
	"vm.percpu_pagelist_high_fraction", // see pageLists
}

// Collect reads the facts of the host whose "/" is root. Missing files leave their facts empty,
// because no host has all of them.
func Collect(root fs.FS) Facts { return CollectWith(root, root) }

// CollectWith is Collect for a host whose trials run in other network namespaces: it reads settings
// that each namespace has from node.
func CollectWith(root, node fs.FS) Facts {
	f := Facts{
		Kernel:        text(root, "proc/sys/kernel/osrelease"),
		KernelVersion: text(root, "proc/sys/kernel/version"),
		Distribution:  distribution(root),
		Machine:       text(root, "proc/sys/kernel/arch"), // Linux 6.1 and later
		SMT:           text(root, "sys/devices/system/cpu/smt/control"),
		Governors:     governors(root),
		Guest:         guest(root),
		Product:       product(root),
		Memory:        memory(root),
		Clocksource:   text(root, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
		Load:          load(root),
		Mitigations:   files(root, "sys/devices/system/cpu/vulnerabilities"),
	}
	f.Sandbox = sandbox(root)
	f.CPULimit, f.Throttled = cpuLimit(root)
	f.cpuinfo(root)
	for _, key := range sysctls {
		if v := text(root, sysctlPath(key)); v != "" {
			if f.Sysctls == nil {
				f.Sysctls = map[string]string{}
			}
			f.Sysctls[key] = v
		}
	}
	f.Settings = f.differing(root, node)
	return f
}

// cpuinfo reads /proc/cpuinfo, whose keys depend on the architecture (arch/x86/kernel/cpu/proc.c,
// arch/arm64/kernel/cpuinfo.c).
func (f *Facts) cpuinfo(root fs.FS) {
	first := map[string]string{} // of the first CPU
	for key, value := range pairs(root, "proc/cpuinfo", ":") {
		if key == "processor" {
			f.CPUs++
		}
		if _, ok := first[key]; !ok {
			first[key] = strings.Join(strings.Fields(value), " ")
		}
	}
	flags := strings.Fields(first["flags"])
	f.Hypervisor = slices.Contains(flags, "hypervisor") // CPUID 1, ECX bit 31
	switch {
	case f.Machine != "":
	case slices.Contains(flags, "lm"): // long mode: 64 bits
		f.Machine = "x86_64"
	case first["CPU architecture"] == "8":
		f.Machine = "aarch64"
	}
	f.CPU = first["model name"]
	if f.CPU == "" && first["CPU part"] != "" {
		// arm64 prints only numbers; lscpu(1) knows their names.
		f.CPU = "implementer " + first["CPU implementer"] + " part " + first["CPU part"]
	}
}

func guest(root fs.FS) string {
	for word := range strings.FieldsSeq(text(root, "proc/cmdline")) {
		if g, ok := strings.CutPrefix(word, GuestKey); ok {
			return g
		}
	}
	return ""
}

func text(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return clean(b)
}

// clean returns a file's words, separated by single spaces.
func clean(b []byte) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "?")), " ")
}

// pairs yields a file's lines as trimmed keys and values around sep; none if the file cannot be
// read.
func pairs(root fs.FS, name, sep string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		b, _ := fs.ReadFile(root, name)
		for line := range strings.Lines(string(b)) {
			key, value, ok := strings.Cut(line, sep)
			if ok && !yield(strings.TrimSpace(key), strings.TrimSpace(value)) {
				return
			}
		}
	}
}

func files(root fs.FS, dir string) map[string]string {
	entries, _ := fs.ReadDir(root, dir)
	if len(entries) == 0 {
		return nil
	}
	m := map[string]string{}
	for _, e := range entries {
		if v := text(root, path.Join(dir, e.Name())); v != "" {
			m[e.Name()] = v
		}
	}
	return m
}

func distribution(root fs.FS) string {
	for _, name := range []string{"etc/os-release", "usr/lib/os-release"} { // os-release(5)
		for key, value := range pairs(root, name, "=") {
			if key == "PRETTY_NAME" {
				return strings.Trim(value, `"'`)
			}
		}
	}
	return ""
}

// product returns the machine's vendor and model, or a VM's hypervisor.
func product(root fs.FS) string {
	const dmi = "sys/class/dmi/id/"
	return strings.TrimSpace(text(root, dmi+"sys_vendor") + " " + text(root, dmi+"product_name"))
}

// memory reads MemTotal, which is in kB of 1024 bytes (proc_meminfo(5)).
func memory(root fs.FS) uint64 {
	for key, value := range pairs(root, "proc/meminfo", ":") {
		if number, ok := strings.CutSuffix(value, " kB"); ok && key == "MemTotal" {
			if kB, err := strconv.ParseUint(number, 10, 53); err == nil {
				return kB << 10
			}
		}
	}
	return 0
}

func load(root fs.FS) []float64 {
	f := strings.Fields(text(root, "proc/loadavg"))
	if len(f) < 3 {
		return nil
	}
	l := make([]float64, 3)
	for i := range l {
		v, err := strconv.ParseFloat(f[i], 64)
		if err != nil || !(v >= 0 && v <= maxLoad) { // NaN is not
			return nil
		}
		l[i] = v
	}
	return l
}

// maxLoad is the largest number of processes a kernel can have (PID_MAX_LIMIT,
// include/linux/threads.h).
const maxLoad = 4 << 20

// governors counts the CPUs per frequency governor; nil if the kernel does not scale frequencies.
func governors(root fs.FS) map[string]int {
	names, _ := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor") // the pattern is a constant
	if len(names) == 0 {
		return nil
	}
	m := map[string]int{}
	for _, name := range names {
		if g := text(root, name); g != "" {
			m[g]++
		}
	}
	return m
}
