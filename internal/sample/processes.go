package sample

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strconv"
	"strings"
	"syscall"
)

// Processes reads the CPU time of every process of the node and its threads, except
// the first process, which only holds the others together: from /proc/PID/stat and
// /proc/PID/task/TID/stat, in seconds.
//
// Its names are process.PID.NAME, which counts threads that have ended, and
// thread.PID.TID.NAME/THREAD for threads whose name differs from their process.
// Numbers at the end of a thread's name are dropped: handler12 is one of the handlers.
// CPUTime adds them up. The thread of a virtual CPU includes the guest's time.
type Processes struct{}

// Sample implements Sampler.
func (Processes) Sample(root fs.FS, c Counters) error {
	dirs, err := fs.ReadDir(root, "proc")
	if err != nil {
		return err
	}
	all := Counters{}
	for _, d := range dirs {
		pid := d.Name()
		if _, err := strconv.Atoi(pid); err != nil || pid == "1" {
			continue
		}
		if err := process(root, pid, all); err != nil && !gone(err) {
			return err
		}
	}
	maps.Copy(c, all)
	return nil
}

// gone reports whether err means that a process has ended: its directory is
// gone, or its open file cannot be read (fs/proc/base.c, proc_single_show).
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

func process(root fs.FS, pid string, c Counters) error {
	name, seconds, err := readProcStat(root, "proc/"+pid+"/stat")
	if err != nil {
		return err
	}
	c["process."+pid+"."+name] = seconds
	tasks, err := fs.ReadDir(root, "proc/"+pid+"/task")
	if err != nil {
		return err
	}
	for _, t := range tasks {
		thread, seconds, err := readProcStat(root, "proc/"+pid+"/task/"+t.Name()+"/stat")
		if gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		if thread != name {
			c["thread."+pid+"."+t.Name()+"."+name+"/"+unnumbered(thread)] = seconds
		}
	}
	return nil
}

// readProcStat reads the name and the user and system time of a process or thread.
func readProcStat(root fs.FS, file string) (name string, seconds float64, err error) {
	b, err := fs.ReadFile(root, file)
	if err != nil {
		return "", 0, err
	}
	p, err := parseProcStat(b)
	if err != nil {
		return "", 0, fmt.Errorf("%s: %w", file, err)
	}
	return word(p.name), (p.user + p.system) / userHZ, nil
}

// A procStat is the CPU time of a process or thread, and of its ended children, in ticks.
type procStat struct {
	name                                 string
	user, system, childUser, childSystem float64
}

// parseProcStat reads "PID (NAME) STATE PPID …". A name can contain anything, even
// parentheses; no field after it does (proc_pid_stat(5): 14 to 17 are utime, stime,
// cutime and cstime).
func parseProcStat(b []byte) (p procStat, err error) {
	const state = 3 // the first field after the name
	from, to := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if from < 0 || to < from {
		return p, fmt.Errorf("%.40q has no name in parentheses", b)
	}
	f := strings.Fields(string(b[to+1:]))
	if len(f) <= 17-state {
		return p, fmt.Errorf("%d fields after the name: want more than %d", len(f), 17-state)
	}
	p.name = string(b[from+1 : to])
	for i, t := range []*float64{&p.user, &p.system, &p.childUser, &p.childSystem} {
		if *t, err = counter(f[14-state+i]); err != nil {
			return procStat{}, fmt.Errorf("field %d: %w", 14+i, err)
		}
	}
	return p, nil
}

// word replaces everything in a name that would split a word.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r
		}
		return '_'
	}, s)
}

// unnumbered drops the numbers at the end of a name, unless nothing else is left.
func unnumbered(s string) string {
	if cut := strings.TrimRight(s, "0123456789-_/:"); cut != "" {
		return cut
	}
	return s
}

// CPUTime sums the counters of Processes by name: process, or process/thread for
// threads with a name of their own.
func (c Counters) CPUTime() map[string]float64 {
	sum := map[string]float64{}
	for k, v := range c {
		for prefix, numbers := range map[string]int{"process.": 1, "thread.": 2} {
			rest, ok := strings.CutPrefix(k, prefix)
			if !ok {
				continue
			}
			sum[strings.SplitN(rest, ".", numbers+1)[numbers]] += v
		}
	}
	return sum
}
