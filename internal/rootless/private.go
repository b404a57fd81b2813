package rootless

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// PrivateDir is where programs of Private have their files.
const PrivateDir = "/tmp"

// nobody is the user that programs of Private run as. Some servers refuse to run as root, also as root of a user
// namespace.
const nobody = 65534

// Private runs this program with args, which are to call InPrivate, in new PID, IPC and mount namespaces. Whatever it starts
// ends with it. It returns the exit status. Signals that end a program come to its whole process group.
func Private(args []string) (int, error) {
	runtime.LockOSThread() // Pdeathsig comes when the thread ends
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = attr()
	cmd.SysProcAttr.Cloneflags &^= syscall.CLONE_NEWNET
	cmd.SysProcAttr.Setpgid = false
	if err := cmd.Start(); err != nil {
		return 0, explain(err)
	}
	return status(cmd.Wait())
}

// InPrivate mounts an empty file system in memory at PrivateDir, writes files there (by name), and runs
// commands there, one after the other, as nobody. It returns the status of the first that fails, or of the last.
func InPrivate(ctx context.Context, files map[string]string, commands [][]string) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	as := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return 0, fmt.Errorf("make mounts private: %w", err)
	}
	owner := nobody
	if !hasID(nobody) { // a user namespace with one user: in one more, that user is nobody
		as.Credential, owner = nil, 0
		as.Cloneflags = syscall.CLONE_NEWUSER
		as.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: 0, Size: 1}}
		as.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: 0, Size: 1}}
		// The maps are written to /proc, by process IDs of this namespace.
		if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			return 0, fmt.Errorf("mount /proc: %w", err)
		}
	}
	if err := unix.Mount("tmpfs", PrivateDir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("mode=0700,uid=%d,gid=%[1]d", owner)); err != nil {
		return 0, fmt.Errorf("mount tmpfs at %s: %w", PrivateDir, err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(PrivateDir, name), []byte(content), 0o644); err != nil {
			return 0, err
		}
	}
	for _, argv := range commands {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.SysProcAttr = PrivateDir, as
		cmd.Env = append(os.Environ(), "HOME="+PrivateDir, "LC_ALL=C")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
		if n, err := status(cmd.Run()); n != 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

// hasID reports whether this user namespace has a user or group.
func hasID(id uint64) bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	for line := range strings.Lines(string(b)) {
		var first, outside, n uint64
		if k, _ := fmt.Sscan(line, &first, &outside, &n); k == 3 && id >= first && id-first < n {
			return err == nil
		}
	}
	return false
}

// status returns the exit status of a program, as a shell counts it.
func status(err error) (int, error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, err
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return exit.ExitCode(), nil
}
