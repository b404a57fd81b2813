package lab

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/target"
)

var _ target.Node = (*place)(nil)

// patience is how long a program may take to end after SIGTERM.
const patience = 2 * time.Second

func (p *place) Name() string { return p.name }

// Run starts c inside the namespace. The program gets a process group of its
// own, which is ended with it.
func (p *place) Run(ctx context.Context, c target.Cmd) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	if c.Argv[0] == "weir" {
		cmd.Path, cmd.Err = "/proc/self/exe", nil
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = patience
	if err := p.ns.Do(cmd.Start); err != nil { // only Start: Wait must not hold the thread
		return fmt.Errorf("%s: %w", p.name, err)
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it started and left; none is the normal case
	if cmd.ProcessState.Success() {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%s: %s: %w", p.name, c.Argv[0], err)
}

func (p *place) FS() fs.FS { return nsFS{p.ns} }

// nsFS is the machine's file tree with /proc/net as the namespace sees it.
type nsFS struct{ ns *netns.Namespace }

func (f nsFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if len(name) > 8 && name[:8] == "proc/net" || len(name) > 12 && name[:12] == "proc/sys/net" {
		return f.ns.Open("/" + name)
	}
	return os.Open("/" + name)
}
