// Package vm runs this program inside a virtual machine of its own, for what
// the kernel of this machine does not have. QEMU boots a kernel of a Debian
// package with an initramfs that holds this program as process 1 and the few
// modules that it needs to reach the host; everything else comes from the host's
// own file system, which the guest sees below a layer of memory. So whatever is
// installed on the host runs in the guest, and no image is built.
//
// A guest has either a whole lab inside it and no network device, or is one pod of
// a lab, with a TAP device of its host. Orders and output go through one virtio
// port, in lines of JSON, over a pair of sockets that only this process and QEMU
// have: never over the network under test. The package must not know what is run
// in a guest.
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
)

// A Machine says what guest is wanted.
type Machine struct {
	Kernel Kernel
	CPUs   int
	Memory int64 // bytes
	// Write is the one directory of the host that the guest can change, absolute.
	// What is written there goes to the host at once.
	Write string
	Name  string // of QEMU's threads; empty is QEMU's own choice
	NIC   *NIC   // nil: no network device
	// Console gets what the guest and QEMU print, beside what is kept of it; nil
	// is nothing.
	Console io.Writer
}

// A Guest is a virtual machine that is up.
type Guest struct {
	Accel string // "kvm", or "tcg" when QEMU emulates every instruction
	// Declined says why it is not KVM, when that was there and did not work.
	Declined error

	qemu    *exec.Cmd
	console *tail
	conn    *os.File
	lines   *json.Decoder
	ended   chan struct{} // closed when QEMU has ended
}

// How long a guest may take until it is ready. Emulated it takes 5 s of CPU time.
var bootTimes = map[string]time.Duration{"kvm": 30 * time.Second, "tcg": 2 * time.Minute}

// signTime is how long a guest under KVM may take to its first character on the
// console, which is a fraction of a second. Where KVM is there and does not
// work, as inside some virtual machines, the guest comes no further than the
// kernel's code of 16 bits.
const signTime = 4 * time.Second

// endTime is how long a command may take to end after a signal.
const endTime = 30 * time.Second

// killTime is how long the output of QEMU is waited for when it has ended, and
// something else holds it open.
const killTime = time.Second

// Boot starts a guest and waits until it takes orders: by KVM where that works,
// which is found by trying, and emulated otherwise. It must be called on the
// main thread, with whose end the kernel ends QEMU.
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
	if err := unix.SetNonblock(pair[0], true); err != nil { // reads return when it is closed
		return nil, err
	}
	conn, theirs := os.NewFile(uintptr(pair[0]), "guest"), os.NewFile(uintptr(pair[1]), "qemu")
	g := &Guest{Accel: accel, console: &tail{}, conn: conn, lines: json.NewDecoder(conn), ended: make(chan struct{})}
	g.qemu = exec.Command(path, m.args(here, accel)...)
	said := io.Writer(g.console)
	if m.Console != nil {
		said = io.MultiWriter(g.console, m.Console)
	}
	var spoke atomic.Bool
	g.qemu.Stdout = writer(func(b []byte) { spoke.Store(true); _, _ = said.Write(b) }) // the guest's console; what is kept of it has no error
	g.qemu.Stderr = said
	g.qemu.ExtraFiles = []*os.File{theirs, initrd} // portFD, initrdFD
	// A group of its own: Ctrl-C is for this process, which tells the guest.
	g.qemu.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	g.qemu.WaitDelay = killTime
	err = g.qemu.Start()
	theirs.Close() // so that reading ends with QEMU
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	go func() {
		_ = g.qemu.Wait() // its status says nothing that the console does not
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
				stand(fmt.Errorf("nothing was on its console within %v", signTime))
			}
		}).Stop()
	}
	defer context.AfterFunc(limit, func() {
		g.kill()
		_ = conn.SetReadDeadline(time.Now()) // somebody may hold the other end
	})()
	// It is read when the guest opens its port. A machine that has ended is heard of below.
	_ = json.NewEncoder(conn).Encode(message{Root: &root{m.Kernel.Version, m.Kernel.Modules, m.Write}})
	if msg, err := next(g.lines); err != nil || !msg.Ready {
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case limit.Err() != nil:
			err = context.Cause(limit)
		case msg.Failed != "":
			err = errors.New(msg.Failed)
		}
		if accel == "kvm" { // another try follows
			return nil, err
		}
		return nil, g.explain("the guest did not start", err)
	}
	return g, nil
}

// explain adds what was seen last on the console.
func (g *Guest) explain(what string, err error) error {
	g.Close() // the console is whole then
	err = fmt.Errorf("%s (%s, %s): %w", what, here.program, g.Accel, err)
	if last := g.console.String(); last != "" {
		err = fmt.Errorf("%w; the last lines of its console:\n%s", err, last)
	}
	return err
}

// Run runs c and returns its exit status. It can be called once. When ctx is done
// the command gets a signal; see rootless.Ending.
func (g *Guest) Run(ctx context.Context, c Command, stdout, stderr io.Writer) (int, error) {
	status, err := newClient(g.conn, g.lines).run(ctx, c, nil, stdout, stderr, endTime)
	switch {
	case errors.Is(err, errGone):
		return 0, g.explain("the guest was lost", err)
	case err != nil:
		return 0, g.explain("the guest could not run it", err)
	case status.Signaled():
		return 0, fmt.Errorf("the command was ended by signal %d (%v)", status.Signal(), status.Signal())
	}
	return status.ExitStatus(), nil
}

// kill ends the virtual machine, and what a wrapper of QEMU's started. It has nothing
// to save: what a guest wrote is on the host already.
func (g *Guest) kill() {
	select {
	case <-g.ended: // its number may be another's
	default:
		_ = syscall.Kill(-g.qemu.Process.Pid, syscall.SIGKILL) // it may end just now
	}
}

// Close ends the guest and waits until it is gone.
func (g *Guest) Close() {
	g.kill()
	<-g.ended
	g.conn.Close()
}
