// Package vm boots a virtual machine that runs this program, for kernel features that this machine
// lacks. QEMU boots a Debian kernel with an initramfs that holds this program as process 1 and the
// few modules needed to reach the host. Everything else comes from the host's file system, which
// the guest sees below an in-memory layer: programs installed on the host run in the guest, and no
// image is built.
//
// A guest either contains a whole lab and has no network device, or is one pod of a lab, with a TAP
// device of its host. Process 1 is an agent (package agent), reached through a virtio port and a
// socket pair that only this process and QEMU have: never over the network under test. The package
// must not know what runs in a guest.
package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/target"
)

// A Machine describes the guest to boot.
type Machine struct {
	Kernel Kernel
	CPUs   int
	Memory int64 // bytes
	// Write is the one host directory that the guest can change, absolute, without delay.
	Write string
	Name  string // of QEMU's threads; "" leaves it to QEMU
	NIC   *NIC   // nil: no network device
	// Console also gets the output of the guest and QEMU; nil discards it.
	Console io.Writer
}

// A Guest is a running virtual machine.
type Guest struct {
	Accel string // "kvm", or "tcg" when QEMU emulates every instruction
	// Declined is why an existing KVM did not work.
	Declined error

	qemu    *exec.Cmd
	console *tail
	conn    *os.File
	ended   chan struct{} // closed when QEMU has ended
}

// bootTimes bounds the time until a guest is ready. An emulated one uses 5 s of CPU time.
var bootTimes = map[string]time.Duration{"kvm": 30 * time.Second, "tcg": 2 * time.Minute}

// signTime bounds the wait for the first console character of a guest under KVM, normally a
// fraction of a second. Where KVM is present but broken, as inside some virtual machines, the guest
// never gets past the kernel's 16-bit code.
const signTime = 4 * time.Second

// endTime bounds how long a command takes to end after a signal.
const endTime = 30 * time.Second

// killTime bounds the wait for QEMU's output when something else holds it open.
const killTime = time.Second

// Boot starts a guest and waits until its agent can be greeted. It tries KVM and falls back to
// emulation. Call it on the main thread: the kernel ends QEMU with the thread that started it.
func Boot(ctx context.Context, m Machine) (*Guest, error) {
	declined := kvmErr()
	if declined == nil {
		var g *Guest
		if g, declined = boot(ctx, m, "kvm"); declined == nil || ctx.Err() != nil {
			return g, declined
		}
	}
	g, err := boot(ctx, m, "tcg")
	if err != nil {
		return nil, err
	}
	if !errors.Is(declined, os.ErrNotExist) {
		g.Declined = declined
	}
	return g, nil
}

func boot(ctx context.Context, m Machine, accel string) (_ *Guest, err error) {
	path, err := findQEMU()
	if err != nil {
		return nil, err
	}
	image, err := unix.MemfdCreate("initramfs", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("initramfs: %w", err)
	}
	initrd := os.NewFile(uintptr(image), "initramfs")
	defer initrd.Close()
	if err := writeImage(initrd, m.Kernel); err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(pair[0], true); err != nil { // Close unblocks reads
		return nil, err
	}
	conn, theirs := os.NewFile(uintptr(pair[0]), "guest"), os.NewFile(uintptr(pair[1]), "qemu")
	g := &Guest{Accel: accel, console: &tail{}, conn: conn, ended: make(chan struct{})}
	g.qemu = exec.Command(path, m.args(here, accel)...)
	said := io.Writer(g.console)
	if m.Console != nil {
		said = io.MultiWriter(g.console, m.Console)
	}
	var spoke atomic.Bool
	g.qemu.Stdout = writer(func(b []byte) { spoke.Store(true); _, _ = said.Write(b) }) // the guest's console; writes to a tail never fail
	g.qemu.Stderr = said
	g.qemu.ExtraFiles = []*os.File{theirs, initrd} // portFD, initrdFD
	// QEMU has its own group because this process passes Ctrl-C to the guest.
	g.qemu.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	g.qemu.WaitDelay = killTime
	err = g.qemu.Start()
	theirs.Close() // so that reading ends with QEMU
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	go func() {
		_ = g.qemu.Wait() // the console says more than its status
		close(g.ended)
	}()
	defer func() {
		if err != nil {
			g.Close()
		}
	}()

	limit, cancel := context.WithTimeoutCause(ctx, bootTimes[accel], fmt.Errorf("it was not ready within %v", bootTimes[accel]))
	defer cancel()
	limit, stand := context.WithCancelCause(limit)
	defer stand(nil)
	if accel == "kvm" {
		defer time.AfterFunc(signTime, func() {
			if !spoke.Load() {
				stand(fmt.Errorf("it printed nothing on its console within %v", signTime))
			}
		}).Stop()
	}
	defer context.AfterFunc(limit, func() {
		g.kill()
		_ = conn.SetReadDeadline(time.Now()) // something else can hold the other end open
	})()
	// The guest reads it when it opens its port. If the machine has ended, next fails.
	_ = json.NewEncoder(conn).Encode(message{Root: &root{m.Kernel.Version, m.Kernel.Modules, m.Write}})
	if msg, err := next(conn); err != nil || !msg.Ready {
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case limit.Err() != nil:
			err = context.Cause(limit)
		case msg.Failed != "":
			err = errors.New(msg.Failed)
		}
		if accel == "kvm" { // the caller tries emulation next
			return nil, err
		}
		return nil, g.explain("the guest did not start", err)
	}
	return g, nil
}

// Lost is a guest that did not start, or that ended before its command did.
type Lost struct {
	Why     error
	Console string // its last lines; "" if it printed none
}

func (l Lost) Error() string {
	if l.Console == "" {
		return l.Why.Error()
	}
	return fmt.Sprintf("%v; the last lines of its console:\n%s", l.Why, l.Console)
}

func (l Lost) Unwrap() error { return l.Why }

// explain ends the guest and adds the end of its console to err.
func (g *Guest) explain(what string, err error) error {
	g.Close() // completes the console
	return Lost{fmt.Errorf("%s (%s, %s): %w", what, here.program, g.Accel, err), g.console.String()}
}

// Run runs argv in dir with this process's environment and returns its exit status. Call it once.
// When ctx ends, the command gets the signal that rootless.Ending returns.
func (g *Guest) Run(ctx context.Context, argv []string, dir string, stdout, stderr io.Writer) (int, error) {
	n, err := g.Dial(ctx, "guest", nil)
	if err != nil {
		return 0, g.explain("the guest was lost", err)
	}
	status, err := n.Exec(ctx, target.Cmd{Argv: argv, Stdout: stdout, Stderr: stderr}, dir, endTime)
	switch {
	case errors.Is(err, target.ErrLost):
		return 0, g.explain("the guest was lost", err)
	case err != nil:
		return 0, g.explain("the guest could not run it", err)
	case status.Signaled():
		return 0, fmt.Errorf("the command was ended by signal %d (%v)", status.Signal(), status.Signal())
	}
	return status.ExitStatus(), nil
}

// kill ends QEMU and a wrapper's processes. The guest's writes are already on the host.
func (g *Guest) kill() {
	select {
	case <-g.ended: // another process can have its ID
	default:
		_ = syscall.Kill(-g.qemu.Process.Pid, syscall.SIGKILL) // it can have just ended
	}
}

// Close ends the guest and waits until it is gone.
func (g *Guest) Close() {
	g.kill()
	<-g.ended
	g.conn.Close()
}
