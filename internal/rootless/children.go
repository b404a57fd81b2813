package rootless

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// EndChildren ends the programs that this process has started, such as ssh(1), which need not end with their input.
// Those with a session of their own go on: Outlive, and others that clean up or hold a topology.
func EndChildren() {
	own, _ := unix.Getsid(0)                                // of this process: it cannot fail
	files, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is a constant
	for _, f := range files {
		b, _ := os.ReadFile(f) // the thread can be gone
		for _, word := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				continue
			}
			if session, err := unix.Getsid(pid); err != nil || session != own {
				continue
			}
			if group, err := unix.Getpgid(pid); err == nil && group == pid {
				pid = -pid
			}
			_ = unix.Kill(pid, unix.SIGKILL) // it can have just ended
		}
	}
}

// Outlive starts this program with args, in a session of its own, and returns its process ID. It does not end with
// this process.
func Outlive(args ...string) (pid int, err error) {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0], cmd.Stderr = "weir", os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}
