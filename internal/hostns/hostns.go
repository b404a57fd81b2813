// Package hostns gives a place what else, besides a network, a machine of its own would
// have: processes, a host name, /proc, /sys and /run. Daemons of several hosts then run
// alongside each other, each with the fixed paths that it insists on, and cannot reach
// the machine's own.
//
// A process of this program holds these namespaces as their process 1. When it ends,
// however it ends, the kernel ends everything that was started in them, daemons
// included, and frees /run with its content, so that there is nothing to remove. The
// package does not know what the daemons are.
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

// Dir is the state directory that a host sees, on an in-memory file system of its own.
const Dir = "/run/weir"

// Program is this program as a host finds it: that of its process 1.
const Program = "/proc/1/exe"

// Peer is the network namespace of a peer as a host finds it.
func Peer(name string) string { return filepath.Join(namesDir, name) }

// Layers is the host's directory for layers over directories of the machine.
const Layers = "/run/layers"

// A Host is the process that holds the namespaces.
type Host struct {
	*netns.Namespace // all of them

	cmd   *exec.Cmd
	stdin io.Closer
}

// Start makes the namespaces of a host called name around the network namespace ns.
// Inside, the network namespaces of peers are in /run/netns by their names, where
// ip-netns(8) keeps them. The caller's own program runs Main, started as
// `weir host init NAME PEER…`.
func Start(ns *netns.Namespace, name string, peers map[string]int) (_ *Host, err error) {
	cmd := exec.Command("/proc/self/exe", "host", "init", name)
	cmd.Args[0] = "weir"
	for peer, fd := range peers {
		dup, err := syscall.Dup(fd) // the original stays the caller's
		if err != nil {
			return nil, err
		}
		f := os.NewFile(uintptr(dup), peer)
		defer f.Close()
		cmd.Args = append(cmd.Args, peer)
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	// The parent-death signal would not do, because the thread that starts the process
	// ends at once (see netns.Do). The end of its standard input ends it instead.
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

// PID is the process ID, as the caller sees it.
func (h *Host) PID() int { return h.cmd.Process.Pid }

// Close ends all processes of the host and returns when they are gone. The caller of Do
// must wait for what it started, before Close or at the same time.
func (h *Host) Close() error { return errors.Join(h.Namespace.Close(), h.end()) }

func (h *Host) end() error {
	h.stdin.Close()
	_ = h.cmd.Process.Kill() // it may have ended
	var exit *exec.ExitError
	if err := h.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}
