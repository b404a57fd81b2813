package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// A service is a daemon that was started.
type service struct {
	plan.Service
	in   string
	log  string // path of what it says, both streams
	from int64  // where in the log it begins: a run that goes on adds to that of the one before
	stop context.CancelFunc
	done chan struct{} // closed when it has ended
	err  error         // how, valid then
}

// state gives p what a daemon needs beside a network (package hostns), once.
func (l *lab) state(p *place) error {
	if p.host != nil {
		return nil
	}
	peers := map[string]int{}
	for name, other := range l.places {
		peers[name] = other.ns.FD()
	}
	h, err := hostns.Start(p.ns, p.name, peers)
	if err != nil {
		return fmt.Errorf("namespaces for daemons: %w", err)
	}
	p.host = h
	return nil
}

// file writes a file to p's state directory.
func (l *lab) file(p *place, f *plan.File) error {
	if err := l.state(p); err != nil {
		return err
	}
	if !filepath.IsLocal(f.Name) {
		return fmt.Errorf("file %q is not below the state directory", f.Name)
	}
	content := plan.Expand(l.values, f.Content)[0]
	return p.host.Do(func() error {
		name := filepath.Join(hostns.Dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return err
		}
		return os.Chmod(name, os.FileMode(f.Perm())) // whatever the umask is
	})
}

// exec runs a command to its end.
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
		return fmt.Errorf("%w%s", err, l.said(p.name)) // it may have asked a daemon
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

// environ is this program's environment, with env of the plan. What a daemon writes
// to a temporary file, as containerd does its stacks, is gone with its host. It finds
// the programs of administrators, iptables for one, which other users' PATH leaves out
// on Debian.
func (l *lab) environ(env []string) []string {
	return append(append(os.Environ(), "TMPDIR="+hostns.Dir, "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin"), plan.Expand(l.values, env...)...)
}

// bound gives a command a time.
func bound(ctx context.Context, seconds int) (context.Context, context.CancelFunc) {
	limit := time.Duration(seconds) * time.Second
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("it has not ended within %v", limit))
}

// output runs a command to its end and returns what it prints, on stderr when it
// prints nothing else. The error holds the end of what it says there.
func (l *lab) output(ctx context.Context, p *place, env, argv []string) (string, error) {
	cmd := command(ctx, plan.Expand(l.values, argv...))
	cmd.Env = l.environ(env)
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
		return said.String(), nil // bird --version
	}
	return out.String(), nil
}

// makes fails when one of devs is not in p, or where it says itself.
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
			return fmt.Errorf("%s has made no device %s: %w", who, dev, err)
		}
	}
	return nil
}

// service starts a daemon and returns when it is ready.
func (l *lab) service(ctx context.Context, p *place, s *plan.Service) error {
	if err := l.state(p); err != nil {
		return err
	}
	if err := p.needs(s); err != nil {
		return fmt.Errorf("service %s: %w", s.Name, err)
	}
	d := &service{Service: *s, in: p.name, done: make(chan struct{})}
	log, err := l.openLog(p, d)
	if err != nil {
		return err
	}
	defer log.Close()
	// Not of ctx, which ends with the step: the service stays.
	life, stop := context.WithCancel(context.Background())
	d.stop = stop
	cmd := command(life, plan.Expand(l.values, s.Argv...))
	cmd.Env = l.environ(s.Env)
	cmd.Dir = hostns.Dir // that it would be / of the machine (mntns_install) is no place for its files
	cmd.Stdout, cmd.Stderr = log, log
	if err := p.host.Do(cmd.Start); err != nil {
		stop()
		return fmt.Errorf("service %s: %w", s.Name, err)
	}
	go func() {
		d.err = cmd.Wait()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it started and left; none is the normal case
		close(d.done)
	}()
	l.services = append(l.services, d)
	if err := l.ready(ctx, p, d); err != nil {
		return err
	}
	return l.makes(p, s.Name, s.Makes)
}

// readyEvery is how often a service is asked whether it is ready.
const readyEvery = 20 * time.Millisecond

// ready returns when d is ready, has ended, or takes too long.
func (l *lab) ready(ctx context.Context, p *place, d *service) error {
	limit := time.Duration(d.Ready.Seconds()) * time.Second
	late := fmt.Errorf("not ready within %v", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	var last error
	for {
		select {
		case <-d.done:
			return d.ended()
		default:
		}
		err := l.isReady(ctx, p, d)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil { // otherwise it says only that time was up
			last = err
		}
		select {
		case <-tick.C:
		case <-d.done:
		case <-ctx.Done():
			err := context.Cause(ctx)
			if errors.Is(err, late) && last != nil {
				err = fmt.Errorf("%w: %w", err, last)
			}
			return fmt.Errorf("service %s: %w%s", d.Name, err, d.tail())
		}
	}
}

// isReady asks once.
func (l *lab) isReady(ctx context.Context, p *place, d *service) error {
	r := d.Ready
	switch {
	case len(r.Argv) > 0:
		_, err := l.output(ctx, p, d.Env, r.Argv)
		return err
	case r.File != "":
		name := plan.Expand(l.values, r.File)[0]
		return p.host.Do(func() error {
			_, err := os.Stat(name)
			return err
		})
	case r.Line != "":
		b, err := d.says(0)
		if err == nil && !bytes.Contains(b, []byte(r.Line)) {
			err = fmt.Errorf("it has not said %q", r.Line)
		}
		return err
	}
	return errors.New("the plan does not say how it is known to be ready")
}

// ended is the error about a service that is not running, nil for one that is.
func (d *service) ended() error {
	select {
	case <-d.done:
	default:
		return nil
	}
	how := "it ended by itself"
	if d.err != nil {
		how = d.err.Error()
	}
	return fmt.Errorf("%w: %s in %s: %s%s", target.ErrService, d.Name, d.in, how, d.tail())
}

// said returns the last lines of the services of a place, for the end of an error.
func (l *lab) said(in string) string {
	said := ""
	for _, d := range l.services {
		if tail := d.tail(); d.in == in && tail != "" {
			said += "; " + d.Name + " said last" + tail
		}
	}
	return said
}

// ended is the error about every service that is not running.
func (l *lab) ended() error {
	var errs []error
	for _, d := range l.services {
		errs = append(errs, d.ended())
	}
	return errors.Join(errs...)
}

// stopServices ends the services, the last one first. What they left behind ends
// with the places.
func (l *lab) stopServices() {
	for i := len(l.services) - 1; i >= 0; i-- {
		l.services[i].stop()
		<-l.services[i].done
	}
	l.services = nil
}
