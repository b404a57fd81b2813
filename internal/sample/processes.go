package sample

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
)

// processes reads the CPU time in seconds of every process of the node and its threads, except the
// first process, which only holds the namespaces.
//
// Names are process.PID.NAME, which includes ended threads, and thread.PID.TID.NAME/THREAD for
// threads whose name differs from their process. Trailing numbers of a thread's name are dropped,
// so handler12 is one of the handlers. A virtual CPU's thread includes the guest's time.
func processes(root fs.FS) (Counters, error) {
	c := Counters{}
	err := eachNumber(root, "proc", func(pid string) error {
		if pid == "1" {
			return nil
		}
		name, t, err := procStat(root, "proc/"+pid+"/stat")
		if err != nil {
			return err
		}
		c["process."+pid+"."+name] = (t.user + t.system) / userHZ
		return eachNumber(root, "proc/"+pid+"/task", func(tid string) error {
			thread, t, err := procStat(root, "proc/"+pid+"/task/"+tid+"/stat")
			if err == nil && thread != name {
				c["thread."+pid+"."+tid+"."+name+"/"+unnumbered(thread)] = (t.user + t.system) / userHZ
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// allProcesses reads the CPU time in seconds of all processes in /proc, including ended children
// that their parents have waited for, as proc.user and proc.system.
//
// In a PID namespace, whose first process inherits all orphans, that is all CPU time its processes
// ever used; the rest of parseStat's time belongs to everything else. System time includes softirqs
// that ran on top of a process (account_process_tick, kernel/sched/cputime.c, without
// CONFIG_IRQ_TIME_ACCOUNTING).
func allProcesses(root fs.FS) (Counters, error) {
	user, system, seen := 0.0, 0.0, false
	err := eachNumber(root, "proc", func(pid string) error {
		_, t, err := procStat(root, "proc/"+pid+"/stat")
		if err == nil {
			user, system, seen = user+(t.user+t.childUser)/userHZ, system+(t.system+t.childSystem)/userHZ, true
		}
		return err
	})
	if err == nil && !seen {
		err = errors.New("/proc has no processes")
	}
	if err != nil {
		return nil, err
	}
	return Counters{"proc.user": user, "proc.system": system}, nil
}

// eachNumber calls do with the numeric entries of dir: processes or threads. One that has ended is
// not an error: its directory is gone, or its open file cannot be read (fs/proc/base.c,
// proc_single_show).
func eachNumber(root fs.FS, dir string, do func(id string) error) error {
	entries, err := fs.ReadDir(root, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		if err := do(e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

type times struct {
	user, system, childUser, childSystem float64 // ticks
	parent                               string  // process ID
	kernel                               bool    // a thread of the kernel
}

// procStat reads "PID (NAME) STATE PPID …" (proc_pid_stat(5)). Only the name can contain
// parentheses.
func procStat(root fs.FS, file string) (name string, t times, err error) {
	b, err := fs.ReadFile(root, file)
	if err != nil {
		return "", t, err
	}
	from, to := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if from < 0 || to < from {
		return "", t, fmt.Errorf("%s: %.40q has no name in parentheses", file, b)
	}
	const ppid, flags, utime, last = 1, 6, 11, 14 // utime, stime, cutime, cstime, counted from 0 after the name
	f := strings.Fields(string(b[to+1:]))
	if len(f) <= last {
		return "", t, fmt.Errorf("%s: %d fields after the name: want more than %d", file, len(f), last)
	}
	bits, err := counter(f[flags])
	if err != nil {
		return "", t, fmt.Errorf("%s: %w", file, err)
	}
	t.parent, t.kernel = f[ppid], uint64(bits)&kernelThread != 0
	for i, ticks := range []*float64{&t.user, &t.system, &t.childUser, &t.childSystem} {
		if *ticks, err = counter(f[utime+i]); err != nil {
			return "", t, fmt.Errorf("%s: %w", file, err)
		}
	}
	return word(string(b[from+1 : to])), t, nil
}

// kernelThread is PF_KTHREAD (include/linux/sched.h).
const kernelThread = 0x00200000

func word(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r
		}
		return '_'
	}, s)
}

func unnumbered(s string) string {
	if cut := strings.TrimRight(s, "0123456789-_/:"); cut != "" {
		return cut
	}
	return s
}

// CPUTime sums the counters of processes by name: process, or process/thread for threads with other
// names.
func (c Counters) CPUTime() map[string]float64 {
	sum := map[string]float64{}
	for k, v := range c {
		kind, rest, _ := strings.Cut(k, ".")
		if numbers := map[string]int{"process": 1, "thread": 2}[kind]; numbers > 0 {
			sum[strings.SplitN(rest, ".", numbers+1)[numbers]] += v
		}
	}
	return sum
}
