// Package cgroup removes the control groups that daemons of a network create: the only thing that
// outlives a network's processes and namespaces. A separate process waits until weir has ended,
// even by SIGKILL, and then removes them.
//
// It must not remove a group of another name, nor one that contains a process.
package cgroup

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// root holds the version 2 control groups, or one directory per version 1 hierarchy.
const root = "/sys/fs/cgroup"

const (
	env    = "WEIR_CGROUP"
	prefix = "weir-"
)

// Name returns the name of the group that Guard removes.
func Name() string { return os.Getenv(env) }

// Guard chooses a control group name, which this process and its descendants read through Name, and
// starts a process that removes the group from every hierarchy once they are gone. Call it before
// starting any of them, and sweep after they have ended. Only root can create control groups; for
// other users Guard does nothing.
func Guard() (sweep func() error, err error) {
	if os.Geteuid() != 0 {
		return func() error { return nil }, nil
	}
	name := prefix + strings.ToLower(rand.Text()[:8])
	if err := os.Setenv(env, name); err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe", "sweep", name)
	cmd.Args[0] = "weir"
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // keep terminal signals away from it
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process that removes control groups: %w", err)
	}
	return func() error {
		stdin.Close()
		if err := cmd.Wait(); err != nil { // it has already printed the reason
			return fmt.Errorf("leftover control groups: %w", err)
		}
		return nil
	}, nil
}

// patience bounds how long the last process of a group takes to disappear.
const patience = 5 * time.Second

// Sweep runs in the process that Guard starts: it waits for EOF on its standard input, then removes
// the group called name and everything below it.
func Sweep(name string) error {
	if !strings.HasPrefix(name, prefix) || strings.ContainsRune(name, '/') {
		return errors.New("weir sweep is an internal command; weir starts it itself, with the name of a control group")
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // wait for EOF
	deadline := time.Now().Add(patience)
	for {
		err := alive(name) // a live process could recreate the group
		if err == nil {
			err = remove(root, name)
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond) // the kernel needs time to end processes
	}
}

func alive(name string) error {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return err
	}
	for _, f := range files {
		b, _ := os.ReadFile(f) // the process can be gone by now
		if filepath.Dir(f) != fmt.Sprintf("/proc/%d", os.Getpid()) && bytes.Contains(b, []byte(env+"="+name+"\x00")) {
			return fmt.Errorf("%s: a process that can use control group %s is still running", filepath.Dir(f), name)
		}
	}
	return nil
}

func remove(root, name string) error {
	tops := []string{filepath.Join(root, name)}
	each, err := filepath.Glob(filepath.Join(root, "*", name))
	if err != nil {
		return err
	}
	var errs []error
	for _, top := range append(tops, each...) {
		var dirs []string
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return err
		})
		if errors.Is(err, fs.ErrNotExist) { // no such group, or its daemon is removing it
			err = nil
		}
		errs = append(errs, err)
		for _, dir := range slices.Backward(dirs) { // children first
			// Remove only directories: a group's files go with it, other files stay.
			if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("remove control group %s: %w", dir, err))
			}
		}
	}
	return errors.Join(errs...)
}
