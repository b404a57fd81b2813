// Package rootless restarts this program inside fresh namespaces. Labs then need no privilege,
// cannot touch the machine's own network, and leave nothing behind however they end.
//
// The second process is process 1 of its PID namespace: when it ends, the kernel ends everything
// that it started, and the network namespaces vanish with their last user. Only this package and
// hostns may clone namespaces other than network namespaces.
package rootless

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

const mark = "WEIR_INSIDE"

// Inside reports whether this is the second process.
func Inside() bool { return os.Getenv(mark) != "" && os.Getpid() == 1 }

// Unprivileged reports whether this root is only an ordinary user outside.
func Unprivileged() bool {
	b, err := os.ReadFile("/proc/self/uid_map") // inside, outside, length
	f := strings.Fields(string(b))
	return err == nil && len(f) >= 2 && f[1] != "0"
}

// ErrForbidden means that the kernel does not let this user create namespaces.
var ErrForbidden = errors.New("namespaces are forbidden")

// readyFD is the descriptor to which the second process writes a byte when it handles signals. Before that the
// kernel drops signals that process 1 does not handle, and the Go runtime exits with a status of its own
// (dieFromSignal, runtime/signal_unix.go).
const (
	readyFD     = 3
	earlyStatus = 2
)

// outsideFD is the /proc of the first process, open.
const outsideFD = 4

// Outside returns the /proc of the first process, which shows the processes outside the new PID
// namespace. Only the second process has it, after Setup.
func Outside() fs.FS { return os.DirFS(fmt.Sprintf("/proc/self/fd/%d", outsideFD)) }

// Reexec restarts this program with the same arguments in new network, mount and PID namespaces,
// and, without CAP_SYS_ADMIN, a user namespace in which the user is root. It returns the second
// process's exit status. When ctx is done, it sends the signal that Ending returns.
//
// Call it on the main thread: the kernel sends the parent-death signal when the starting thread
// ends.
func Reexec(ctx context.Context) (int, error) {
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	ready, readyEnd, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer ready.Close()
	outside, err := os.Open("/proc")
	if err != nil {
		readyEnd.Close()
		return 0, err
	}
	defer outside.Close()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), mark+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{readyEnd, outside}
	// With a process group of its own, the second process gets Ctrl-C once: from this process,
	// which also passes on signals sent to it alone.
	cmd.SysProcAttr = attr()

	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT) // the user wants the goroutines of the second process
	defer signal.Stop(quit)
	pause := make(chan os.Signal, 1)
	signal.Notify(pause, syscall.SIGTSTP) // Ctrl-Z
	defer signal.Stop(pause)
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE) // a topology outlives the reader of its stderr
	defer signal.Stop(broken)
	child := make(chan os.Signal, 1)
	signal.Notify(child, syscall.SIGCHLD) // the kernel also sends it when a child stops
	defer signal.Stop(child)
	killed := Kills()
	err = cmd.Start()
	readyEnd.Close()
	if err != nil {
		return 0, explain(err)
	}
	var begun atomic.Bool
	// begins returns when the second process is ready or has exited.
	begins := func() bool {
		if n, _ := ready.Read(make([]byte, 1)); n > 0 {
			begun.Store(true)
		}
		return begun.Load()
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		var s os.Signal
		for s == nil {
			select {
			case <-ctx.Done():
				s = Ending(context.Cause(ctx))
			case s = <-quit:
			case <-pause:
				fmt.Fprintln(os.Stderr, "weir: this cannot be paused: programs and timers of the networks would run on, and numbers be wrong; end it with Ctrl-C, and continue a run with weir run --resume DIR")
			case <-child:
				var stopped unix.Siginfo
				if unix.Waitid(unix.P_PID, cmd.Process.Pid, &stopped, unix.WSTOPPED|unix.WNOHANG, nil) == nil && stopped.Signo != 0 {
					fmt.Fprintf(os.Stderr, "weir: process %d, which does the work, was stopped, and nothing goes on; continue it with kill -CONT %[1]d, or end it with Ctrl-C\n", cmd.Process.Pid)
				}
			case <-done:
				return
			}
		}
		_ = cmd.Process.Signal(syscall.SIGCONT) // a stopped one heeds no other signal
		begins()
		_ = cmd.Process.Signal(s)
	}()
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			why := ""
			if starved := Starving(ws, killed); starved != "" {
				why = ": " + starved
			} else if ws.Signal() == syscall.SIGKILL {
				why = ", as the kernel does where memory runs out"
			}
			return 0, fmt.Errorf("lab process killed by signal %d (%v)%s; if it was a run, continue it with weir run --resume DIR", ws.Signal(), ws.Signal(), why)
		}
		if exit.ExitCode() == earlyStatus && !begins() {
			return 0, errors.New("lab process killed by a signal before it was ready; if it was a run, continue it with weir run --resume DIR")
		}
		return exit.ExitCode(), nil
	}
	return 0, err
}

// Ending returns the signal that ends another process for a canceled context: that of a cause with
// a method Signal() syscall.Signal, otherwise SIGTERM.
func Ending(cause error) syscall.Signal {
	var s interface{ Signal() syscall.Signal }
	if errors.As(cause, &s) {
		return s.Signal()
	}
	return syscall.SIGTERM
}

func attr() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
		Setpgid:    true,
	}
	if !privileged() {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return a
}

// privileged reports whether a user namespace is unnecessary. Root in a container often needs one.
func privileged() bool {
	var caps [2]unix.CapUserData // 32 bits each
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return os.Geteuid() == 0 && unix.Capget(&h, &caps[0]) == nil && caps[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// explain adds the remedy to the kernel's refusal.
func explain(err error) error {
	if !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EACCES) && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("start in new namespaces: %w", err)
	}
	fix := "run as root, or allow user namespaces"
	if os.Geteuid() == 0 {
		fix = "this root cannot create any, as in a container: use docker run --privileged"
	}
	for _, k := range []struct{ file, bad, fix string }{
		{"/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
	} {
		if b, e := os.ReadFile(k.file); e == nil && strings.TrimSpace(string(b)) == k.bad {
			fix = "run as root, or as root once: " + k.fix
			break
		}
	}
	return fmt.Errorf("%w: start in new user, network, mount and PID namespaces: %w; %s", ErrForbidden, err, fix)
}

// orphanStatus is the exit status of a second process without a first one. Nobody reads it.
const orphanStatus = 3

// orphaned reports whether the first process is gone, by the write end of its pipe. The kernel signals only
// deaths after the second process has asked for that, and there the usual check, whether the parent is still
// the same, says nothing: outside this PID namespace every parent is 0.
func orphaned(fd int) bool {
	poll := []unix.PollFd{{Fd: int32(fd)}}
	_, err := unix.Poll(poll, 0)
	return err == nil && poll[0].Revents&unix.POLLERR != 0
}

// Setup completes the second process with mounts that match the new namespaces: the /proc of the
// old PID namespace would show a foreign process under this ID. The process gets signals from then
// on and must already handle them.
func Setup() error {
	ready := os.NewFile(readyFD, "ready")
	defer ready.Close()
	if orphaned(readyFD) {
		os.Exit(orphanStatus)
	}
	// This process group is in the background of the terminal: with stty tostop the kernel would stop a program
	// that prints, but not process 1, whose writes would fail forever instead (tty_check_change, drivers/tty).
	signal.Ignore(syscall.SIGTTOU)
	unix.CloseOnExec(outsideFD) // programs of the run see only their own processes
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("%w: mount /proc of the new PID namespace: %w; in a container, allow an unmasked /proc (docker run --security-opt systempaths=unconfined)", ErrForbidden, err)
	}
	_, _ = ready.Write([]byte{1}) // a first process that is gone no longer needs it
	return nil
}
