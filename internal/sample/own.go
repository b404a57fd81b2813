package sample

import (
	"bytes"
	"errors"
	"io/fs"
)

// ownProcesses reads the CPU time in seconds of this process and its descendants as proc.user and
// proc.system, like allProcesses for a /proc that also shows others' processes. It includes ended
// processes that their parents have waited for.
//
// The rest of parseStat's time belongs to everything else on the machine, if this process becomes the
// parent of its orphans (PR_SET_CHILD_SUBREAPER): otherwise their time counts as that of others.
func ownProcesses(root fs.FS) (Counters, error) {
	self, err := fs.ReadFile(root, "proc/self/stat")
	if err != nil {
		return nil, err
	}
	pid, _, _ := bytes.Cut(self, []byte(" "))
	all, parents := map[string]times{}, map[string]string{}
	err = eachNumber(root, "proc", func(pid string) error {
		_, t, err := procStat(root, "proc/"+pid+"/stat")
		switch {
		case err == nil:
			all[pid], parents[pid] = t, t.parent
		case errors.Is(err, fs.ErrPermission):
			return nil // another user's: /proc is mounted with hidepid=1 (proc(5))
		}
		return err
	})
	own, c := map[string]bool{string(pid): true}, Counters{}
	for id, t := range all {
		if descends(id, own, parents) {
			c["proc.user"] += (t.user + t.childUser) / userHZ
			c["proc.system"] += (t.system + t.childSystem) / userHZ
		}
	}
	if err == nil && len(c) == 0 {
		err = errors.New("/proc does not show this process")
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// otherPrograms is Others below a node's "/", as other.PID NAME.
func otherPrograms(root fs.FS) (Counters, error) {
	proc, err := fs.Sub(root, "proc")
	if err != nil {
		return nil, err
	}
	c, err := Others(proc)
	if err != nil {
		return nil, err
	}
	named := make(Counters, len(c))
	for name, used := range c {
		named[OtherPrefix+name] = used
	}
	return named, nil
}

// OtherPrefix begins the names of the counters of OfOthers; a PID, a space and a name follow.
const OtherPrefix = "other."
