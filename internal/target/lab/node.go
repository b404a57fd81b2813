package lab

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"strings"
	"sync"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/local"
)

var _ target.Node = (*place)(nil)

func (p *place) Name() string { return p.name }

// machine is the host of all places.
var machine = sync.OnceValue(local.Host)

// Host returns this machine, even for a pod that is a virtual machine.
func (p *place) Host() *target.Host { return machine() }

func (p *place) inside() *netns.Namespace {
	if p.host != nil {
		return p.host.Namespace
	}
	return p.ns
}

// Run runs c inside the namespaces of the place, in its own process group. When c ends, so does
// everything in that group or with the program's tag.
func (p *place) Run(ctx context.Context, c target.Cmd) error {
	if p.guest != nil {
		return p.guest.Run(ctx, c)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	cmd, tag := p.command(ctx, c.Argv, c.Env)
	cmd.Dir = c.Dir
	cmd.Stdout, cmd.Stderr = c.Mark.Writer(ctx, p.Host(), c.Stdout), c.Stderr
	var stdin io.WriteCloser
	killed := rootless.Kills()
	// Only Start is inside, because Wait must not hold the thread. The program inherits the
	// thread's affinity; the thread is then thrown away.
	err := p.inside().Do(func() error {
		if p.host == nil { // UCX looks for its devices in /sys (uct_tcp_query_devices)
			if err := hostns.OwnSys(); err != nil {
				return err
			}
		}
		if err := local.Pin(c.CPUs); err != nil {
			return err
		}
		if c.Stdin != nil { // as cmd.Stdin, Wait would wait for its end although the program has ended
			var err error
			if stdin, err = cmd.StdinPipe(); err != nil {
				return err
			}
		}
		return cmd.Start()
	})
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	if stdin != nil {
		go caught.Error(func() error {
			defer stdin.Close()
			_, err := io.Copy(stdin, c.Stdin)
			return err // of no use: the program can end first
		})
	}
	err = cmd.Wait()
	tag.End(cmd.Process.Pid)
	if cmd.ProcessState.Success() {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%s: %s: %w", p.name, c.Argv[0], rootless.Starved(err, killed))
}

// CPUs returns those of this process; a guest has no choice.
func (p *place) CPUs() []int {
	if p.guest != nil {
		return p.guest.CPUs()
	}
	return local.CPUs()
}

// Sample reads counters as the place sees them.
func (p *place) Sample(ctx context.Context, sources ...string) (target.Reading, error) {
	if p.guest != nil {
		return p.guest.Sample(ctx, sources...)
	}
	var r target.Reading
	err := p.ns.Do(func() error {
		r = local.Sample(here{p.FS()}, sources...)
		return nil
	})
	return r, err
}

// Settings reads the settings of the place, of its devices, and its path MTU toward far addresses.
func (p *place) Settings(ctx context.Context, devs []string, far []netip.Addr) (found evidence.Node, err error) {
	if p.guest != nil {
		return p.guest.Settings(ctx, devs, far)
	}
	err = p.ns.Do(func() error {
		found = local.SettingsOf(here{p.FS()}, devs, far)
		return nil
	})
	return found, err
}

// here is a place's file tree for a thread in the place's network namespace: to read many files costs one
// thread instead of one each.
type here struct{ fs.FS }

// usualFile exceeds the size of most files of /proc/net, bytes.
const usualFile = 16 << 10

// ReadFile reads a file in one call, as a rule.
func (f here) ReadFile(name string) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b := bytes.NewBuffer(make([]byte, 0, usualFile))
	_, err = b.ReadFrom(file)
	return b.Bytes(), err
}

func (f here) Open(name string) (fs.File, error) {
	switch rest, inNet := strings.CutPrefix(name, "proc/net/"); {
	case !fs.ValidPath(name):
	case inNet:
		return os.Open("/proc/thread-self/net/" + rest)
	case strings.HasPrefix(name, "proc/sys/net/"):
		return os.Open("/" + name)
	}
	return f.FS.Open(name)
}

// FS returns the place's own tree, or the machine's with the place's network.
func (p *place) FS() fs.FS {
	if p.guest != nil {
		return p.guest.FS()
	}
	if p.host != nil {
		return nsFS{p.ns, nil, fmt.Sprintf("/proc/%d/root/", p.host.PID())}
	}
	return nsFS{p.ns, p.sysfs, "/"}
}

// nsFS is the file tree below root with a namespace's /proc/net and, unless sys is nil, its
// /sys/class/net.
type nsFS struct {
	ns   *netns.Namespace
	sys  *sysfs
	root string
}

func (f nsFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if len(name) > 8 && name[:8] == "proc/net" || len(name) > 12 && name[:12] == "proc/sys/net" {
		return f.ns.Open("/" + name)
	}
	if f.sys != nil && strings.HasPrefix(name, devices) {
		return f.sys.open(f.ns, name)
	}
	return os.Open(f.root + name)
}
