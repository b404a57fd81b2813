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
	c.Flags().StringVar(&f.kernel, "kernel", "", "kernel of the virtual machine: a directory with an unpacked Debian package, an image, or IMAGE:MODULES (default: an installed one)")
	_ = c.MarkFlagFilename("kernel")
	f.registerSize(c)
}

// registerSize adds the flags that size reads.
func (f *vmFlags) registerSize(c *cobra.Command) {
	c.Flags().IntVar(&f.cpus, "vm-cpus", 2, "CPUs of the virtual machine")
	c.Flags().StringVar(&f.memory, "vm-memory", "1GiB", "memory of the virtual machine")
}

// refuse refuses flags of a virtual machine without one: whoever forgot --in-vm would measure another machine.
func (f *vmFlags) refuse(c *cobra.Command) error {
	for _, name := range []string{"kernel", "vm-cpus", "vm-memory"} {
		if c.Flags().Changed(name) {
			return usage("--%s is for a virtual machine; add --in-vm, or leave it out", name)
		}
	}
	return nil
}

const (
	minMemory = 256 << 20 // bytes; the kernel and this program take half of it
	maxCPUs   = 255       // limit of QEMU's machines without an interrupt remapper
)

func (f *vmFlags) machine() (m vm.Machine, err error) {
	if m, err = f.size(); err != nil {
		return m, err
	}
	if f.kernel != "" {
		m.Kernel, err = vm.KernelAt(f.kernel)
	} else {
		m.Kernel, err = vm.FindKernel(vm.Places()...)
	}
	return m, failure.Environment.Of(err)
}

// size returns a machine without a kernel.
func (f *vmFlags) size() (m vm.Machine, err error) {
	memory, err := unit.ParseBytes(f.memory)
	switch {
	case err != nil:
		return m, usage("--vm-memory: %w", err)
	case memory < minMemory:
		return m, usage("--vm-memory %s: a guest needs at least %d MiB", f.memory, minMemory>>20)
	case f.cpus < 1 || f.cpus > maxCPUs:
		return m, usage("invalid --vm-cpus %d: want 1 to %d", f.cpus, maxCPUs)
	}
	return vm.Machine{CPUs: f.cpus, Memory: int64(memory)}, nil
}
