package cli

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/bisect"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job/bisection"
	"github.com/weir-bench/weir/internal/target/vm"
)

// Pairs of runs in a comparison. The blocks of each run are few: another run says more than another block.
const (
	usualPairs   = 6
	mostPairs    = 100
	blocksOfRuns = 2
)

func bisectKernels(version string) *cobra.Command {
	f := &bisectFlags{}
	var machine vmFlags
	var pairs int
	c := &cobra.Command{
		Use:   "kernels GOOD [KERNEL ...] BAD",
		Short: "Find the kernel that changed what a network costs",
		Long: `Find the kernel after GOOD, up to BAD, that changed what a network costs. Give the
kernels in their order: directories with an unpacked package (weir run --kernel), images, or
IMAGE:MODULES with the kernel's lib/modules/VERSION.

weir measures in virtual machines, as weir run --in-vm does. A comparison is --pairs pairs
of short runs: in each pair, both kernels boot once, in random order, and measure the same
study. weir chooses the pair of kernels that tells the most, and stops when one kernel, or
"none of them", has the probability --certainty. Before a kernel is blamed, it is compared
with the one before it. A kernel that does not boot, or whose trials fail, is skipped: the
answer can then be a range. Every run is an ordinary results directory in -o, and
bisect.html is a page about all of them. After an interruption, --resume or the same command
with -o continues.

Where KVM does not work, QEMU emulates the guests. Ratios then mostly reflect that.`,
		Example: `  weir bisect kernels ~/kernels/6.1 ~/kernels/6.6 ~/kernels/6.12 -n vxlan-overlay -p tcp-stream
  weir bisect kernels good/arch/x86/boot/bzImage:/lib/modules/6.17.0 bad/arch/x86/boot/bzImage:/lib/modules/6.18.0 -n bridge -p tcp-rr
  weir bisect kernels --resume weir-results/bisect-20261127-101500`,
		RunE: func(c *cobra.Command, as []string) error {
			f.o.Caller, f.o.Output = caller(version), os.Stderr
			if err := f.kernels(c, as, machine, pairs); err != nil {
				return err
			}
			return f.search(c)
		},
	}
	f.register(c)
	c.Flags().IntVar(&pairs, "pairs", usualPairs, "pairs of runs in a comparison")
	c.Flags().Lookup("blocks").Usage += "; of each run, here 2 unless you give it"
	machine.registerSize(c)
	return c
}

// kernels reads what to search, unless a directory holds it.
func (f *bisectFlags) kernels(c *cobra.Command, as []string, machine vmFlags, pairs int) error {
	if f.o.Resume != "" {
		return cmp.Or(f.resumes(c, as), failure.Environment.Of(vm.Err()))
	}
	if pairs < 2 || pairs > mostPairs {
		return usage("invalid --pairs %d: want 2 to %d", pairs, mostPairs)
	}
	size, err := machine.size()
	if err != nil {
		return err
	}
	all, err := bisection.Kernels(as)
	if err != nil {
		return err
	}
	f.o.Guests = &bisect.Guests{Kernels: all, CPUs: size.CPUs, Memory: size.Memory, Pairs: pairs}
	if err := f.measured(c); err != nil {
		return err
	}
	if f.of == "" && !c.Flags().Changed("blocks") {
		f.o.Study.Blocks = blocksOfRuns
	}
	return failure.Environment.Of(vm.Err())
}
