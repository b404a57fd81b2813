package sample

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// AllProcesses reads the CPU time of all processes that /proc shows, the ended ones
// among them that their parents have waited for: proc.user and proc.system, in
// seconds.
//
// In a PID namespace of its own, whose first process inherits all orphans, that
// is all CPU time that its processes ever used, so that the difference to Stat is
// what others use. Time of softirqs that ran on top of a process is in it, as
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
			continue // it has ended since
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
		return errors.New("proc shows no process")
	}
	c["proc.user"], c["proc.system"] = user, system
	return nil
}

// processTimes returns what a process and its ended children used, in seconds.
// The fields are counted from behind the name, which may hold anything, even
// parentheses (proc_pid_stat(5): 14 to 17 are utime, stime, cutime and cstime).
func processTimes(b []byte) (user, system float64, err error) {
	const state = 3 // the first field behind the name
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) <= 17-state {
		return 0, 0, fmt.Errorf("%d fields behind the name, want more than %d", len(f), 17-state)
	}
	var ticks [4]float64
	for i := range ticks {
		if ticks[i], err = counter(string(f[14-state+i])); err != nil {
			return 0, 0, err
		}
	}
	return (ticks[0] + ticks[2]) / userHZ, (ticks[1] + ticks[3]) / userHZ, nil
}
