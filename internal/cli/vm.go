package cli

import (
	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/target/vm"
	"github.com/weir-bench/weir/internal/unit"
)

type vmFlags struct {
	in     bool
	kernel string
	cpus   int
	memory string
}

func (f *vmFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.BoolVar(&f.in, "in-vm", false, "run in a virtual machine, for features that this machine's kernel lacks")
	f.registerMachine(c)
}

func (f *vmFlags) registerMachine(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.kernel, "kernel", "", "directory with the kernel of the virtual machine: an unpacked Debian package (default: an installed one)")
	fl.IntVar(&f.cpus, "vm-cpus", 2, "CPUs of the virtual machine")
	fl.StringVar(&f.memory, "vm-memory", "1GiB", "memory of the virtual machine")
	_ = c.MarkFlagDirname("kernel")
}

const (
	minMemory = 256 << 20 // bytes; the kernel and this program take half of it
	maxCPUs   = 255       // limit of QEMU's machines without an interrupt remapper
)

func (f *vmFlags) machine() (m vm.Machine, err error) {
	memory, err := unit.ParseBytes(f.memory)
	switch {
	case err != nil:
		return m, usage("--vm-memory: %w", err)
	case memory < minMemory:
		return m, usage("--vm-memory %s: a guest needs at least %d MiB", f.memory, minMemory>>20)
	case f.cpus < 1 || f.cpus > maxCPUs:
		return m, usage("invalid --vm-cpus %d: want 1 to %d", f.cpus, maxCPUs)
	}
	places := vm.Places()
	if f.kernel != "" {
		places = []string{f.kernel}
	}
	m = vm.Machine{CPUs: f.cpus, Memory: int64(memory)}
	m.Kernel, err = vm.FindKernel(places...)
	return m, failure.Environment.Of(err)
}
