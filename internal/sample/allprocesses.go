package sample

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
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
		if gone(err) {
			continue // the process has ended
		}
		if err != nil {
			return err
		}
		p, err := parseProcStat(b)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		user, system, seen = user+(p.user+p.childUser)/userHZ, system+(p.system+p.childSystem)/userHZ, true
	}
	if !seen {
		return errors.New("/proc has no processes")
	}
	c["proc.user"], c["proc.system"] = user, system
	return nil
}
