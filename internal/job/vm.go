package job

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/target/vm"
)

// VM is the virtual machine of a run.
type VM struct {
	Machine        func() (vm.Machine, error)
	Stdout, Stderr io.Writer // of the weir inside, which shows the trials itself
}

// GuestKind returns the kind of weir's own virtual machines that this process runs in; "" outside of them.
func GuestKind() string { return facts.Collect(local.Host().FS).Guest }

// measureInVM runs the trials in a virtual machine. This process creates the directory and the study;
// the guest resumes that run.
func (r *runner) measureInVM(ctx context.Context) (_ *store.Dir, err error) {
	m, err := r.VM.Machine()
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
	if m.Write, err = filepath.Abs(r.Dir); err == nil {
		m.Write, err = filepath.EvalSymlinks(m.Write)
	}
	if err != nil {
		return nil, r.stopped(err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, r.stopped(err)
	}
	r.Tell.Say(lang.T("starting a virtual machine with Linux %s", m.Kernel.Version))
	g, err := vm.Boot(ctx, m)
	if err != nil {
		return nil, r.lost(ctx, err)
	}
	defer g.Close()
	r.Tell.Say(aboutGuest(g))
	inside := []string{"weir", "run", "--lang", r.Lang.Code(), "--resume", r.Dir}
	if r.At.Commands {
		inside = append(inside, "--allow-commands")
	}
	status, err := g.Run(ctx, inside, cwd, r.VM.Stdout, r.VM.Stderr)
	if err != nil {
		return nil, r.lost(ctx, err)
	}
	if status != 0 {
		return nil, failure.Ended(status)
	}
	return d, nil
}

// lost returns the error of a virtual machine that has ended, and says how to resume the run.
func (r *runner) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		r.Tell.Warn(r.resumeHint())
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
