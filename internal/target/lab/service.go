package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/target"
)

type service struct {
	plan.Service
	in   string
	log  *logFile // takes stdout and stderr
	stop context.CancelFunc
	done chan struct{} // closed when it has exited
	err  error         // exit error, valid once done is closed
	pid  int           // of its process group
	// dismissed: an event has ended it.
	dismissed bool
}

// state gives p, once, the other namespaces that daemons need (package hostns).
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

func (l *lab) file(p *place, f *plan.File) error {
	if err := l.state(p); err != nil {
		return err
	}
	if !filepath.IsLocal(f.Name) {
		return fmt.Errorf("file %q is outside the state directory", f.Name)
	}
	content := plan.Expand(l.values, f.Content)[0]
	if f.Content == plan.CA || f.Content == plan.Identity {
		var err error
		if content, err = l.certificates(f.Content); err != nil {
			return fmt.Errorf("certificate %s: %w", f.Name, err)
		}
	}
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

func (l *lab) service(ctx context.Context, p *place, s *plan.Service) error {
	if err := l.state(p); err != nil {
		return err
	}
	if err := p.needs(s); err != nil {
		return fmt.Errorf("service %s: %w", s.Name, err)
	}
	d := &service{Service: *s, in: p.name, done: make(chan struct{})}
	var err error
	if d.log, err = l.openLog(p, s.Name); err != nil {
		return fmt.Errorf("log of service %s: %w", s.Name, err)
	}
	// Not derived from ctx: the service outlives its step.
	life, stop := context.WithCancel(context.Background())
	d.stop = stop
	cmd, _ := p.command(life, plan.Expand(l.values, s.Argv...), nil)
	cmd.Env = l.environ(p, s.Env)
	cmd.Dir = hostns.Dir // otherwise it is the machine's / (fs/namespace.c, mntns_install)
	cmd.Stdout, cmd.Stderr = d.log.File, d.log.File
	killed := rootless.Kills()
	if err := p.host.Do(cmd.Start); err != nil {
		stop()
		d.log.Close()
		return fmt.Errorf("service %s: %w", s.Name, err)
	}
	d.pid = cmd.Process.Pid
	go func() {
		d.err = rootless.Starved(cmd.Wait(), killed)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its process group, usually empty
		close(d.done)
	}()
	l.services = append(l.services, d)
	if err := l.ready(ctx, p, d); err != nil {
		return err
	}
	return l.makes(p, s.Name, s.Makes)
}

const readyEvery = 20 * time.Millisecond

// ready waits for d. It fails when d exits or time is up.
func (l *lab) ready(ctx context.Context, p *place, d *service) error {
	err := until(ctx, d.Ready.Seconds(), "not ready", nil, d.ended, func(ctx context.Context) error { return l.isReady(ctx, p, d) })
	if err == nil || errors.Is(err, target.ErrService) {
		return err
	}
	return fmt.Errorf("service %s: %w%s", d.Name, err, d.log.tail())
}

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
		b, err := d.log.logged(0)
		if err == nil && !bytes.Contains(b, []byte(r.Line)) {
			err = fmt.Errorf("its log does not contain %q", r.Line)
		}
		return err
	}
	return errors.New("the plan has no readiness check for it")
}

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
	return fmt.Errorf("%w: %s in %s: %s%s", target.ErrService, d.Name, d.in, how, d.log.tail())
}

// said quotes the logs of a place's services for an error.
func (l *lab) said(in string) string {
	said := ""
	for _, d := range l.services {
		if tail := d.log.tail(); d.in == in && tail != "" {
			said += "; last log lines of " + d.Name + tail
		}
	}
	return said
}

// ended returns an error for every service that has exited.
func (l *lab) ended() error {
	var err error
	for _, d := range l.services {
		if !d.dismissed {
			err = errors.Join(err, d.ended())
		}
	}
	return err
}

// stopServices ends the services in reverse order. Their leftover processes end with the places.
func (l *lab) stopServices() {
	for _, d := range slices.Backward(l.services) {
		d.stop()
		<-d.done
		d.log.Close()
	}
	l.services = nil
}
