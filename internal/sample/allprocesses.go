package sample

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// AllProcesses reads the CPU time of all processes in /proc, including ended children
// that their parents have waited for: proc.user and proc.system, in seconds.
//
// In a PID namespace of its own, whose first process inherits all orphans, that
// is all CPU time that its processes ever used; the difference to Stat is the
// time of everything else. It includes softirqs that ran on top of a process, as
// system time (account_process_tick, kernel/sched/cputime.c, without
// CONFIG_IRQ_TIME_ACCOUNTING).
type AllProcesses struct{}

// Sample implements Sampler.
func (AllProcesses) Sample(root fs.FS, c Counters) error {
	dir, err := fs.ReadDir(root, "proc")
	if err != nil {
		return err
	}
	user, system, seen := 0.0, 0.0, false
	for _, d := range dir {
		if strings.Trim(d.Name(), "0123456789") != "" {
			continue
		}
		name := "proc/" + d.Name() + "/stat"
		b, err := fs.ReadFile(root, name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the process has ended
		}
		if err != nil {
			return err
		}
		u, s, err := processTimes(b)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		user, system, seen = user+u, system+s, true
	}
	if !seen {
		return errors.New("/proc has no processes")
	}
	c["proc.user"], c["proc.system"] = user, system
	return nil
}

// processTimes returns the CPU time of a process and its ended children, in seconds.
// Fields count from after the name, which can contain anything, even
// parentheses (proc_pid_stat(5): 14 to 17 are utime, stime, cutime and cstime).
func processTimes(b []byte) (user, system float64, err error) {
	const state = 3 // the first field after the name
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) <= 17-state {
		return 0, 0, fmt.Errorf("%d fields after the name: want more than %d", len(f), 17-state)
	}
	var ticks [4]float64
	for i := range ticks {
		if ticks[i], err = counter(string(f[14-state+i])); err != nil {
			return 0, 0, err
		}
	}
	return (ticks[0] + ticks[2]) / userHZ, (ticks[1] + ticks[3]) / userHZ, nil
}
