// Package hostns gives a place the rest of a machine: its own processes, host name, /proc, /sys and
// /run. Daemons of several hosts can then run side by side with their fixed paths, out of reach of
// the machine's own daemons.
//
// A process of this program is process 1 of these namespaces. However it ends, the kernel then ends
// everything started in them and frees /run, so nothing is left to remove. The package must not
// know which daemons run.
package hostns

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/weir-bench/weir/internal/netns"
)

// Dir is a host's state directory, on its own in-memory file system.
const Dir = "/run/weir"

// Program is the path of weir inside a host: the program of its process 1.
const Program = "/proc/1/exe"

// Peer returns the path of a peer's network namespace inside a host.
func Peer(name string) string { return filepath.Join(namesDir, name) }

// Layers holds a host's overlays over directories of the machine.
const Layers = "/run/layers"

// A Host is the process that holds the namespaces.
type Host struct {
	*netns.Namespace // all namespaces of the host

	cmd   *exec.Cmd
	stdin io.Closer
}

// Start makes the namespaces of host name around the network namespace ns. Inside, the peers'
// network namespaces are in /run/netns by name, as ip-netns(8) expects. The caller's own program
// must call Main for `weir host init NAME PEER…`.
func Start(ns *netns.Namespace, name string, peers map[string]int) (_ *Host, err error) {
	cmd := exec.Command("/proc/self/exe", "host", "init", name)
	cmd.Args[0] = "weir"
	for peer, fd := range peers {
		dup, err := syscall.Dup(fd) // the caller keeps the original
		if err != nil {
			return nil, err
		}
		f := os.NewFile(uintptr(dup), peer)
		defer f.Close()
		cmd.Args = append(cmd.Args, peer)
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	// EOF on standard input ends the process. The parent-death signal cannot, because the thread
	// that starts the process ends at once (see netns.Do).
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID, Setpgid: true}
	h := &Host{cmd: cmd}
	if h.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := ns.Do(cmd.Start); err != nil {
		return nil, fmt.Errorf("new mount, UTS and PID namespaces: %w", err)
	}
	if n, _ := stdout.Read(make([]byte, len(ready))); n != len(ready) {
		_ = h.end() // its message says more than its status
		return nil, errors.New(strings.TrimSpace(stderr.String()))
	}
	if h.Namespace, err = netns.Of(cmd.Process.Pid); err != nil {
		return nil, errors.Join(err, h.end())
	}
	return h, nil
}

// PID returns the process ID in the caller's namespace.
func (h *Host) PID() int { return h.cmd.Process.Pid }

// Close ends all processes of the host and returns when they are gone. The caller must wait for
// what it started through Do, before or during Close.
func (h *Host) Close() error { return errors.Join(h.Namespace.Close(), h.end()) }

func (h *Host) end() error {
	h.stdin.Close()
	_ = h.cmd.Process.Kill() // it can have ended
	var exit *exec.ExitError
	if err := h.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}
