// Package cgroup removes the control groups that daemons of a network make.
// They are the one thing that outlives its processes and namespaces, so a process
// of its own waits for the end of weir, however it ends, and removes them then.
//
// It must not remove a group with another name than it was told, nor one with a
// process in it.
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

// root is where control groups are: of version 2, or one directory for each
// hierarchy of version 1.
const root = "/sys/fs/cgroup"

const (
	env    = "WEIR_CGROUP"
	prefix = "weir-"
)

// Name is that of the group that Guard promised to remove.
func Name() string { return os.Getenv(env) }

// Guard chooses a name for a control group, which this process and those that it
// starts learn from Name, and starts a process that removes the group, in every
// hierarchy, when this one and all of those are gone. It must be called before any
// is started; sweep, when they have ended. Only root can make control groups: for
// others it does nothing.
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what ends the terminal's programs does not end it
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start what removes control groups: %w", err)
	}
	return func() error {
		stdin.Close()
		if err := cmd.Wait(); err != nil { // it has said why
			return fmt.Errorf("control groups are left: %w", err)
		}
		return nil
	}, nil
}

// patience is how long the last process of a group may take to be gone.
const patience = 5 * time.Second

// Sweep is the process that Guard starts. It waits for the end of its standard
// input and removes the group called name, with all below it.
func Sweep(name string) error {
	if !strings.HasPrefix(name, prefix) || strings.ContainsRune(name, '/') {
		return errors.New("weir sweep is started by weir itself, with the name of a control group")
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // its end is all that it tells
	deadline := time.Now().Add(patience)
	for {
		err := alive(name) // one of them could make a group anew
		if err == nil {
			err = remove(root, name)
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond) // processes are ended by the kernel in its own time
	}
}

// alive returns an error when a process, this one left out, has learnt name.
func alive(name string) error {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return err
	}
	for _, f := range files {
		b, _ := os.ReadFile(f) // the process may be gone by now
		if filepath.Dir(f) != fmt.Sprintf("/proc/%d", os.Getpid()) && bytes.Contains(b, []byte(env+"="+name+"\x00")) {
			return fmt.Errorf("%s: a process that may use control group %s still runs", filepath.Dir(f), name)
		}
	}
	return nil
}

// remove removes the groups called name below root, in one hierarchy or in one
// for each directory.
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
		if errors.Is(err, fs.ErrNotExist) { // there is none, or it is being removed by its daemon
			err = nil
		}
		errs = append(errs, err)
		for _, dir := range slices.Backward(dirs) { // children first
			// Only directories: the files of a group go with it, those of others stay.
			if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("remove control group %s: %w", dir, err))
			}
		}
	}
	return errors.Join(errs...)
}
