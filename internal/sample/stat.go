package sample

import (
	"errors"
	"fmt"
	"strings"
)

// userHZ is the number of ticks per second in /proc/stat, which is part of the ABI, whatever
// CONFIG_HZ is: 100 on amd64 and arm64 (include/asm-generic/param.h; proc_stat(5)).
const userHZ = 100

// The columns of a cpu line, in the order of show_stat (fs/proc/stat.c). All ten exist since Linux
// 2.6.33, which is older than any kernel that Go supports.
var cpuColumns = []string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"}

// CPUs returns the number of online CPUs in the counters of /proc/stat.
func (c Counters) CPUs() (n int) {
	for name := range c {
		if cpu, ok := strings.CutSuffix(name, ".idle"); ok && cpu != "cpu" && strings.HasPrefix(cpu, "cpu") {
			n++
		}
	}
	return n
}

// parseStat reads CPU time from /proc/stat: cpu.user, nice, system, idle, iowait, irq, softirq,
// steal and guest in seconds, summed over all CPUs; the same per online CPU as cpu0.user …; and the
// numbers of context switches (ctxt) and forks (processes).
//
// The nine are disjoint. They add up to all time only if the kernel measures all of them by the clock.
// Most kernels measure idle, iowait and steal by the clock (get_idle_time, fs/proc/stat.c;
// steal_account_process_time) and sample the others at ticks, so that a CPU that works for less than
// a tick at a time looks less busy than it is (account_process_tick, kernel/sched/cputime.c).
//
// The kernel counts guest time twice, as user and guest or as nice and guest_nice
// (account_guest_time, kernel/sched/cputime.c); parseStat subtracts it from user and nice, and guest
// is the sum of both.
func parseStat(b []byte) (Counters, error) {
	c := Counters{}
	for i, line := range lines(b) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		var err error
		switch {
		case strings.HasPrefix(f[0], "cpu"):
			err = cpuTimes(f[0], f[1:], c)
		case f[0] == "ctxt" || f[0] == "processes":
			if len(f) != 2 {
				err = fmt.Errorf("%s has %d numbers: want 1", f[0], len(f)-1)
				break
			}
			c[f[0]], err = counter(f[1])
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if _, ok := c["cpu.user"]; !ok {
		return nil, errors.New(`no line "cpu"`)
	}
	return c, nil
}

func cpuTimes(cpu string, columns []string, c Counters) error {
	if len(columns) < len(cpuColumns) {
		return fmt.Errorf("%s has %d columns: want at least %d", cpu, len(columns), len(cpuColumns))
	}
	ticks := map[string]float64{}
	for i, name := range cpuColumns {
		n, err := counter(columns[i])
		if err != nil {
			return fmt.Errorf("%s: %s: %w", cpu, name, err)
		}
		ticks[name] = n
	}
	ticks["user"] -= ticks["guest"]
	ticks["nice"] -= ticks["guest_nice"]
	ticks["guest"] += ticks["guest_nice"]
	delete(ticks, "guest_nice")
	for name, n := range ticks {
		c[cpu+"."+name] = n / userHZ
	}
	return nil
}
