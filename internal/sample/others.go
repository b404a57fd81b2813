package sample

import (
	"bytes"
	"fmt"
	"io/fs"
)

// Others reads the CPU time in seconds of every process in a /proc outside this program's PID
// namespace, except this program, its parent and their descendants. Names are PID NAME.
//
// It leaves kernel threads out, because they work for the run's traffic too. Processes that have ended
// are missing, and so are those that this /proc does not show, such as those outside a container.
func Others(proc fs.FS) (Counters, error) {
	self, err := fs.ReadFile(proc, "self/stat") // with the IDs of that namespace
	if err != nil {
		return nil, err
	}
	pid, _, _ := bytes.Cut(self, []byte(" "))
	_, t, err := procStat(proc, "self/stat")
	if err != nil {
		return nil, err
	}
	c, parents := Counters{}, map[string]string{}
	err = eachNumber(proc, ".", func(pid string) error {
		name, t, err := procStat(proc, pid+"/stat")
		if err == nil {
			parents[pid] = t.parent
			if !t.kernel {
				c[pid+" "+name] = (t.user + t.system) / userHZ
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	own := map[string]bool{string(pid): true, t.parent: t.parent != "0"}
	for name := range c {
		id, _, _ := bytes.Cut([]byte(name), []byte(" "))
		if descends(string(id), own, parents) {
			delete(c, name)
		}
	}
	if len(parents) == 0 {
		return nil, fmt.Errorf("/proc has no processes")
	}
	return c, nil
}

// descends reports whether a process is in own or has an ancestor there, and adds it. Parents can
// form a cycle when an ID is reused during the reading.
func descends(pid string, own map[string]bool, parents map[string]string) bool {
	for at, n := pid, 0; n <= len(parents); n++ {
		if own[at] {
			own[pid] = true
			return true
		}
		next, ok := parents[at]
		if !ok {
			return false
		}
		at = next
	}
	return false
}
