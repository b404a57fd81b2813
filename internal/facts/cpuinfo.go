package facts

import (
	"io/fs"
	"slices"
	"strings"
)

type cpu struct {
	model, machine string
	count          int
	hypervisor     bool
}

// cpuinfo reads /proc/cpuinfo, whose keys depend on the architecture
// (arch/x86/kernel/cpu/proc.c, arch/arm64/kernel/cpuinfo.c).
func cpuinfo(root fs.FS) cpu {
	var c cpu
	first := map[string]string{} // of the first CPU
	for key, value := range pairs(root, "proc/cpuinfo", ":") {
		if key == "processor" {
			c.count++
		}
		if _, ok := first[key]; !ok {
			first[key] = strings.Join(strings.Fields(value), " ")
		}
	}
	flags := strings.Fields(first["flags"])
	c.hypervisor = slices.Contains(flags, "hypervisor") // CPUID 1, ECX bit 31
	switch {
	case slices.Contains(flags, "lm"): // long mode: 64 bits
		c.machine = "x86_64"
	case first["CPU architecture"] == "8":
		c.machine = "aarch64"
	}
	c.model = first["model name"]
	if c.model == "" && first["CPU part"] != "" {
		// arm64 prints numbers only; lscpu(1) knows their names.
		c.model = "implementer " + first["CPU implementer"] + " part " + first["CPU part"]
	}
	return c
}
