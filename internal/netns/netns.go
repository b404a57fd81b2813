// Package netns creates network namespaces and runs functions inside them, or inside all namespaces
// of a process. Only this package may call setns(2), and only this one and hostns may call
// unshare(2). It must not know links or addresses.
//
// Package main must lock the main goroutine to the main thread in an init function: that thread
// cannot be thrown away, so it must never enter a foreign namespace.
package netns

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// A Namespace is an open handle. The kernel keeps the namespace until the handle is closed and its
// last process, socket and device handle is gone.
type Namespace struct {
	f     *os.File
	kinds int // CLONE_NEW… flags for Do
}

// Create makes n empty network namespaces and calls f inside each (see Do), with its number from 0.
// It stops at the first error of f. f owns the handle.
func Create(n int, f func(i int, ns *Namespace) error) error {
	return onThread(func() error {
		for i := range n {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("unshare network namespace: %w", err)
			}
			ns, err := Current()
			if err == nil {
				err = f(i, ns)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Current returns the network namespace of the calling thread.
func Current() (*Namespace, error) {
	return At("/proc/thread-self/ns/net") // /proc/self/ns/net is the main thread's
}

// Of returns the network, mount, UTS and PID namespaces of a process. A pidfd (Linux 5.8) keeps the
// handle from referring to a later process with the same ID. Do itself stays in its own PID
// namespace; programs that it starts are in the process's.
func Of(pid int) (*Namespace, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	return &Namespace{f, unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWPID}, nil
}

// At opens the network namespace behind /proc/PID/ns/net or an ip-netns(8) name.
func At(name string) (*Namespace, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return &Namespace{f, unix.CLONE_NEWNET}, nil
}

// FD returns a descriptor that is valid until Close.
func (ns *Namespace) FD() int { return int(ns.f.Fd()) }

// Close releases the handle.
func (ns *Namespace) Close() error { return ns.f.Close() }

// Do calls f on a thread inside ns. It costs about 35 µs.
//
// f can use system calls, sockets to literal addresses, and exec.Cmd.Start. It must not use the go
// statement, host names (the resolver and happy-eyeballs dialing start goroutines), or
// SysProcAttr.Pdeathsig (the signal comes when the starting thread dies, as this one does:
// golang/go#27505).
func (ns *Namespace) Do(f func() error) error {
	return onThread(func() error {
		if ns.kinds&unix.CLONE_NEWNS != 0 {
			// Threads share their root and current directory; only a thread with its own can enter
			// a mount namespace (fs/namespace.c, mntns_install).
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return fmt.Errorf("unshare root directory: %w", err)
			}
		}
		if err := unix.Setns(ns.FD(), ns.kinds); err != nil {
			return fmt.Errorf("enter namespaces: %w", err)
		}
		return f()
	})
}

// DoEach is Do for several network namespaces in turn, with f called with the index. It stops at
// the first error. All but the first cost a system call instead of a thread.
func DoEach(in []*Namespace, f func(i int) error) error {
	return onThread(func() error {
		for i, ns := range in {
			if err := unix.Setns(ns.FD(), unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("enter network namespace: %w", err)
			}
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	})
}

// Open opens a file below /proc/net or /proc/sys/net as a thread inside ns sees it; other files are
// the same everywhere. The file stays bound to ns.
func (ns *Namespace) Open(name string) (*os.File, error) {
	if rest, ok := strings.CutPrefix(name, "/proc/net/"); ok {
		// /proc/net is /proc/self/net, the main thread's.
		name = "/proc/thread-self/net/" + rest
	}
	var f *os.File
	err := ns.Do(func() (err error) {
		f, err = os.Open(name)
		return err
	})
	return f, err
}

// Exec replaces this process by the program path in the network namespace behind the file name. It
// calls prepare on the thread that becomes the program. It returns only with an error.
func Exec(name string, prepare func() error, path string, argv, env []string) error {
	return onThread(func() error {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace %s: %w", name, err)
		}
		if err := prepare(); err != nil {
			return err
		}
		// Linux ends the other threads and gives this one the process ID.
		return &os.PathError{Op: "exec", Path: path, Err: unix.Exec(path, argv, env)}
	})
}

// onThread runs f on a new thread and destroys it: no other goroutine runs in the namespace.
func onThread(f func() error) error {
	errc := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the runtime destroys the thread with the goroutine
		defer func() {
			if r := recover(); r != nil {
				errc <- fmt.Errorf("panic in a namespace: %v", r)
			}
		}()
		errc <- f()
	}()
	return <-errc
}
