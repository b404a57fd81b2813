package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tamper runs a command in the network namespace of a run that has a device.
func tamper(t *testing.T, run, device, command string) {
	t.Helper()
	eventually(t, device+" exists", func() bool {
		for _, p := range withEnv(run) {
			pid, _, _ := strings.Cut(p, ":")
			fds, _ := filepath.Glob("/proc/" + pid + "/fd/*") // the process may be gone
			for _, fd := range fds {
				if of, err := os.Readlink(fd); err != nil || !strings.HasPrefix(of, "net:") {
					continue
				}
				enter := []string{"--net=" + fd, "--"}
				if exec.Command("nsenter", append(enter, "ip", "link", "show", device)...).Run() != nil {
					continue
				}
				if b, err := exec.Command("nsenter", append(enter, "sh", "-c", command)...).CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", command, err, b)
				}
				return true
			}
		}
		return false
	})
}
