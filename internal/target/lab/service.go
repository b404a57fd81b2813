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

// A service is a daemon that weir started.
type service struct {
	plan.Service
	in   string
	log  string // path of its log, which takes both output streams
	from int64  // where its own output begins: a resumed run appends to the log of the earlier one
	stop context.CancelFunc
	done chan struct{} // closed when it has exited
	err  error         // its exit error, valid once done is closed
}

// state gives p, once, the namespaces that daemons need in addition to the network
// (package hostns).
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
		return fmt.Errorf("create namespaces for daemons: %w", err)
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
		return fmt.Errorf("file %q is outside the state directory", f.Name)
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
		return os.Chmod(name, os.FileMode(f.Perm())) // despite the umask
	})
}

// exec runs a command and waits for it.
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
		return fmt.Errorf("%w%s", err, l.said(p.name)) // the command may have asked a daemon
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

// environ is the environment of this program and the plan's env. Temporary files, such
// as the stacks of containerd, vanish with the host. PATH includes the directories of
// administration tools such as iptables, which Debian leaves out for ordinary users.
func (l *lab) environ(env []string) []string {
	return append(append(os.Environ(), "TMPDIR="+hostns.Dir, "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin"), plan.Expand(l.values, env...)...)
}

// bound limits the run time of a command.
func bound(ctx context.Context, seconds int) (context.Context, context.CancelFunc) {
	limit := time.Duration(seconds) * time.Second
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("still running after %v", limit))
}

// output runs a command, waits for it and returns its standard output, or standard
// error if it prints nothing else. An error quotes the end of standard error.
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
		return said.String(), nil // as of bird --version
	}
	return out.String(), nil
}

// makes returns an error when one of devs, DEVICE in p or PLACE/DEVICE, does not exist.
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
	// Not derived from ctx, which ends with the step: the service outlives it.
	life, stop := context.WithCancel(context.Background())
	d.stop = stop
	cmd := command(life, plan.Expand(l.values, s.Argv...))
	cmd.Env = l.environ(s.Env)
	cmd.Dir = hostns.Dir // otherwise it is the machine's / (fs/namespace.c, mntns_install)
	cmd.Stdout, cmd.Stderr = log, log
	if err := p.host.Do(cmd.Start); err != nil {
		stop()
		return fmt.Errorf("service %s: %w", s.Name, err)
	}
	go func() {
		d.err = cmd.Wait()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its process group; usually nothing is left
		close(d.done)
	}()
	l.services = append(l.services, d)
	if err := l.ready(ctx, p, d); err != nil {
		return err
	}
	return l.makes(p, s.Name, s.Makes)
}

// readyEvery is the interval between checks of a condition.
const readyEvery = 20 * time.Millisecond

// ready waits until d is ready. It fails when d exits or the time is up.
func (l *lab) ready(ctx context.Context, p *place, d *service) error {
	err := until(ctx, d.Ready.Seconds(), "not ready", nil, d.ended, func(ctx context.Context) error { return l.isReady(ctx, p, d) })
	if err == nil || errors.Is(err, target.ErrService) {
		return err
	}
	return fmt.Errorf("service %s: %w%s", d.Name, err, d.tail())
}

// until checks a condition until it holds. It fails when ended does or the time is up;
// then the error begins with late and has that of the last check, or last if none ended.
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
		if timed.Err() == nil { // otherwise err only says that the time is up
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

// isReady checks once.
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
		b, err := d.logged(0)
		if err == nil && !bytes.Contains(b, []byte(r.Line)) {
			err = fmt.Errorf("its log does not contain %q", r.Line)
		}
		return err
	}
	return errors.New("the plan has no readiness check for it")
}

// ended returns an error if the service has exited.
func (d *service) ended() error {
	select {
	case <-d.done:
	default:
		return nil
	}
	how := "exit status 0"
	if d.err != nil {
		how = d.err.Error()
	}
	return fmt.Errorf("%w: %s in %s: %s%s", target.ErrService, d.Name, d.in, how, d.tail())
}

// said returns the last log lines of the services of a place, for the end of an error.
func (l *lab) said(in string) string {
	said := ""
	for _, d := range l.services {
		if tail := d.tail(); d.in == in && tail != "" {
			said += "; last log lines of " + d.Name + tail
		}
	}
	return said
}

// ended returns an error about every service that has exited.
func (l *lab) ended() error {
	var errs []error
	for _, d := range l.services {
		errs = append(errs, d.ended())
	}
	return errors.Join(errs...)
}

// stopServices ends the services, the last one first. Processes that they leave
// behind end with the places.
func (l *lab) stopServices() {
	for i := len(l.services) - 1; i >= 0; i-- {
		l.services[i].stop()
		<-l.services[i].done
	}
	l.services = nil
}
