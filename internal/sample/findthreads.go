package sample

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// kernelThreads are the threads of the kernel that carry packets, by the beginning of their name: softirqs,
// vhost (before Linux 6.4; later its threads belong to QEMU), NAPI.
var kernelThreads = []string{"ksoftirqd/", "vhost-", "napi/"}

// kernelWork is the work of kworkers that carries packets: their name ends with what they did last
// (wq_worker_comm, kernel/workqueue.c).
const kernelWork = "wg-crypt"

// process adds the threads of the process in dir.
func (t *Threads) process(dir string, add func(candidate)) error {
	p, known := t.known[dir]
	if known && !p.sure {
		known, p.sure = false, true
	}
	if !known {
		args, err := fs.ReadFile(t.root, dir+"/cmdline")
		if err == nil && len(args) > 0 {
			p.comm, err = comm(t.root, dir+"/comm")
		}
		if err != nil {
			return err
		}
		if len(args) > 0 { // otherwise a kernel thread, or a process that is ending
			file := func() string {
				to, _ := fs.ReadLink(t.root, dir+"/exe") // "" of another user
				return to
			}
			p.name, p.ns = program(args, p.comm, file), inode(t.root, dir+"/ns/net")
		} else {
			p.sure = true
		}
		t.known[dir] = p
	}
	if p.name == "" {
		if known {
			return nil
		}
		return t.kernelThread(t.root, dir, add)
	}
	return eachNumber(t.root, dir+"/task", func(tid string) (err error) {
		task := dir + "/task/" + tid
		c := candidate{root: t.root, file: t.clock(task)}
		if th := t.open[c.file]; th != nil && known {
			c.key = th.key
		} else {
			name, err := comm(t.root, task+"/comm")
			if err != nil {
				return err
			}
			full := p.name
			if name != p.comm {
				full += "/" + unnumbered(name)
			}
			c.key = "task." + path.Base(dir) + "." + tid + "." + p.ns + "." + limited(full)
		}
		if c.used, err = t.once(c); err == nil {
			add(c)
		}
		return err
	})
}

// kernelTask begins the keys of kernel threads.
const kernelTask = "task.0."

// kernelThread adds the thread in dir if it is one of the kernel's that matter.
func (t *Threads) kernelThread(root fs.FS, dir string, add func(candidate)) error {
	name, times, err := procStat(root, dir+"/stat")
	if err != nil || !times.kernel {
		return err
	}
	switch kind, _, _ := strings.Cut(name, "/"); {
	case kind == "kworker" && strings.Contains(name, kernelWork):
		name = kind + "/" + kernelWork // the rest changes
	case !slices.ContainsFunc(kernelThreads, func(k string) bool { return strings.HasPrefix(name, k) }):
		return nil
	case kind != "ksoftirqd":
		name = unnumbered(name)
	}
	c := candidate{root: root, file: t.clock(dir), key: kernelTask + path.Base(dir) + ".0." + limited(name), kernel: true}
	if c.used, err = t.once(c); err == nil {
		add(c)
	}
	return err
}
