package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/target/local"
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
	return m, exit(exitEnvironment, err)
}

func inGuest() string { return facts.Collect(local.Host().FS).Guest }

func ranInVM(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "hosts", account.HostOfVM+".json"))
	return err == nil
}

// measureInVM runs the trials in a virtual machine. This process creates the directory and the study;
// the guest resumes that run.
func (r *runner) measureInVM(ctx context.Context) (_ *store.Dir, err error) {
	m, err := r.vm.machine()
	if err != nil {
		return nil, err
	}
	d, err := r.open()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	if err := r.describe(d, account.HostOfVM); err != nil {
		return nil, r.stopped(err)
	}
	// The guest sees this directory, but not the targets of symbolic links.
	if m.Write, err = filepath.Abs(r.dir); err == nil {
		m.Write, err = filepath.EvalSymlinks(m.Write)
	}
	if err != nil {
		return nil, r.stopped(err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, r.stopped(err)
	}
	say(lang.T("starting a virtual machine with Linux %s", m.Kernel.Version))
	g, err := vm.Boot(ctx, m)
	if err != nil {
		return nil, r.lost(ctx, err)
	}
	defer g.Close()
	say(aboutGuest(g))
	status, err := g.Run(ctx, []string{"weir", "run", "--lang", language.Code(), "--resume", r.dir}, cwd, os.Stdout, os.Stderr)
	if err != nil {
		return nil, r.lost(ctx, err)
	}
	if status != 0 {
		return nil, ended(status)
	}
	return d, nil
}

// lost reports that the virtual machine has ended, and how to resume the run.
func (r *runner) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		warn(r.resumeHint())
		return context.Cause(ctx)
	}
	return r.stopped(err)
}

// aboutGuest describes the guest and how to interpret its numbers.
func aboutGuest(g *vm.Guest) lang.Text {
	s := lang.T("virtual machine is up, with KVM")
	if g.Accel != "kvm" {
		s = lang.T("virtual machine is up, emulated (TCG): its absolute numbers mean nothing")
	}
	if g.Declined != nil {
		s += lang.T("; KVM: %v", g.Declined)
	}
	return s
}
