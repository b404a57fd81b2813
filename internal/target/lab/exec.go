package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/local"
)

func (l *lab) exec(ctx context.Context, p *place, e *plan.Exec) error {
	if err := l.state(p); err != nil {
		return err
	}
	if err := p.private(e.Private); err != nil {
		return err
	}
	timed, cancel := bound(ctx, e.Seconds())
	out, err := l.output(timed, p, e.Env, e.Argv)
	cancel()
	l.undoLater(p, e, err)
	if err == nil {
		err = l.makes(p, e.Argv[0], e.Makes)
	}
	if err != nil && ctx.Err() == nil {
		if e.Remedy != "" {
			err = fmt.Errorf("%w: %s", err, e.Remedy)
		}
		return fmt.Errorf("%w%s", err, l.said(p.name)) // the command can have queried a daemon
	}
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	if e.Found != "" {
		l.found[e.Found] = first
	}
	if e.Keep != "" {
		l.values[e.Keep] = first
	}
	return nil
}

// environ returns this program's environment plus the plan's env. Temporary files, such as
// containerd's stacks, vanish with the host. PATH includes administration directories (iptables),
// which Debian omits for ordinary users.
func (l *lab) environ(p *place, env []string) []string {
	return append(append(os.Environ(), "TMPDIR="+hostns.Dir, p.path()+":/usr/sbin:/sbin"), plan.Expand(l.values, env...)...)
}

// path is the environment's PATH, in which the preferred programs come first.
func (p *place) path() string {
	if p.programs == "" {
		return "PATH=" + os.Getenv("PATH")
	}
	return "PATH=" + p.programs + string(filepath.ListSeparator) + os.Getenv("PATH")
}

// command is local.Command that prefers the place's own programs, whichever path the network has for them.
func (p *place) command(ctx context.Context, argv, env []string) (*exec.Cmd, local.Tag) {
	if p.programs == "" {
		return local.Command(ctx, argv, env)
	}
	cmd, tag := local.Command(ctx, argv, append(env, p.path()))
	own := filepath.Join(p.programs, filepath.Base(argv[0]))
	if _, err := os.Stat(own); err == nil {
		cmd.Path, cmd.Err = own, facts.Safe(own)
	}
	return cmd, tag
}

func bound(ctx context.Context, seconds int) (context.Context, context.CancelFunc) {
	limit := time.Duration(seconds) * time.Second
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("still running after %v", limit))
}

// output runs a command and returns its standard output, or its standard error if that is all it
// prints. An error quotes the end of standard error.
func (l *lab) output(ctx context.Context, p *place, env, argv []string) (string, error) {
	cmd, _ := p.command(ctx, plan.Expand(l.values, argv...), nil)
	cmd.Env = l.environ(p, env)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := p.host.Do(cmd.Start); err != nil {
		return "", err
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", fmt.Errorf("%s: %w%s", strings.Join(cmd.Args, " "), err, quoted(said.String()))
	}
	if out.Len() == 0 {
		return said.String(), nil // as for bird --version
	}
	return out.String(), nil
}

// makes returns an error when one of devs (DEVICE in p, or PLACE/DEVICE) does not exist.
func (l *lab) makes(p *place, who string, devs []string) error {
	for _, dev := range devs {
		at, name := p, dev
		if in, there, ok := strings.Cut(dev, "/"); ok {
			var err error
			if at, err = l.at(in); err != nil {
				return err
			}
			name = there
		}
		if _, _, err := at.lookup(name); err != nil {
			return fmt.Errorf("%s did not create device %s: %w", who, dev, err)
		}
	}
	return nil
}

func (l *lab) prints(ctx context.Context, p *place, o plan.Output) error {
	if err := l.state(p); err != nil {
		return err
	}
	out, err := l.output(ctx, p, nil, o.Argv)
	if err == nil {
		err = o.Check(out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// await repeats a command until it prints the expected output, a service ends, or time is up.
func (l *lab) await(ctx context.Context, p *place, a *plan.Await) error {
	err := until(ctx, a.Seconds(), "condition not met", fmt.Errorf("%s is still running", a.Argv[0]), l.ended,
		func(ctx context.Context) error { return l.prints(ctx, p, a.Output) })
	if err == nil || errors.Is(err, target.ErrService) || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w%s", err, l.said(p.name))
}

// until polls a condition. It fails when ended does or time is up; the error then consists of late
// and the last check's error, or last if no check finished.
func until(ctx context.Context, seconds int, late string, last error, ended func() error, check func(context.Context) error) error {
	limit := time.Duration(seconds) * time.Second
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		if err := ended(); err != nil {
			return err
		}
		err := check(timed)
		if err == nil {
			return nil
		}
		if timed.Err() == nil { // otherwise err only reports the timeout
			last = err
		}
		select {
		case <-tick.C:
		case <-timed.Done():
			if err := context.Cause(ctx); err != nil {
				return err
			}
			late = fmt.Sprintf("%s within %v", late, limit)
			if last == nil {
				return errors.New(late)
			}
			return fmt.Errorf("%s: %w", late, last)
		}
	}
}

// undoTime bounds all undo commands of a lab together.
const undoTime = 10 * time.Second

// undoLater records the undo command of e, which ended with err. Commands that failed half-way are
// undone too, but the error of their undo command is dropped.
func (l *lab) undoLater(p *place, e *plan.Exec, err error) {
	if len(e.Undo) == 0 {
		return
	}
	l.undo = append(l.undo, func(ctx context.Context) error {
		_, undone := l.output(ctx, p, e.Env, e.Undo)
		if err != nil {
			return nil
		}
		return undone
	})
}

// undoAll runs the recorded undo commands in reverse order.
func (l *lab) undoAll() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), undoTime, fmt.Errorf("undo commands still running after %v", undoTime))
	defer cancel()
	var errs []error
	for _, undo := range slices.Backward(l.undo) {
		errs = append(errs, undo(ctx))
	}
	l.undo = nil
	return errors.Join(errs...)
}
