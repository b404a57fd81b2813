package rootless

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// killsFiles count the processes of a control group that the kernel killed for lack of memory: version 2, and version 1
// since Linux 4.13.
var killsFiles = []string{"memory.events", "memory.oom_control"}

// Kills returns how many processes of this process's control group the kernel has killed for lack of memory, by a limit or
// the machine's; 0 where it does not say.
func Kills() int {
	for dir := range groups("memory") {
		for _, name := range killsFiles {
			if file := filepath.Join(dir, name); readable(file) {
				return field(file, "oom_kill")
			}
		}
	}
	return 0
}

func readable(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// unlimited is what version 1 reports at least where no limit is set, bytes.
const unlimited = 1 << 60

// limitOfMemory returns the lowest limit of the control groups that hold this process, bytes, and its file; "" without one.
func limitOfMemory() (least int, file string) {
	for dir := range groups("memory") {
		for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
			at := filepath.Join(dir, name)
			if n := number(at); n >= 0 && n < unlimited && (file == "" || n < least) {
				least, file = n, at
			}
		}
	}
	return least, file
}

// Starved adds to the error of a process that SIGKILL ended how many processes the kernel has killed for lack of memory. since
// is what Kills returned when the process started.
func Starved(err error, since int) error {
	var exit interface{ Sys() any }
	if !errors.As(err, &exit) {
		return err
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok {
		if why := Starving(ws, since); why != "" {
			return fmt.Errorf("%w: %s", err, why)
		}
	}
	return err
}

// Starving says how many processes the kernel has killed for lack of memory since Kills returned since, if a process with
// this status was killed by SIGKILL; otherwise it returns "". The kernel can have killed other processes, so the text names no
// cause.
func Starving(ws syscall.WaitStatus, since int) string {
	if !ws.Signaled() || ws.Signal() != syscall.SIGKILL {
		return ""
	}
	return starving(Kills() - since)
}

// starving says that the kernel killed n processes of this process's control group; "" for none.
func starving(n int) string {
	if n <= 0 {
		return ""
	}
	processes := "1 process"
	if n > 1 {
		processes = fmt.Sprintf("%d processes", n)
	}
	if most, file := limitOfMemory(); file != "" {
		return fmt.Sprintf("meanwhile the kernel killed %s of its control group for lack of memory; the group may have %d bytes (%s): raise that limit, or make the study smaller", processes, most, file)
	}
	return fmt.Sprintf("meanwhile the kernel killed %s for lack of memory, of which this machine has no more", processes)
}
