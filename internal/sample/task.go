package sample

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// threadTime parses "RUN WAIT SLICES" in ns (sched-stats(5)) or, with ticks, a line of stat.
func threadTime(b []byte, ticks bool) (float64, error) {
	if ticks {
		const utime = 11 // counted from 0 after the name
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(f) <= utime+1 {
			return 0, fmt.Errorf("%.40q: %d fields after the name: want more than %d", b, len(f), utime+1)
		}
		user, err1 := counter(f[utime])
		system, err2 := counter(f[utime+1])
		return (user + system) / userHZ, errors.Join(err1, err2)
	}
	run, _, ok := bytes.Cut(b, []byte(" "))
	ns, err := strconv.ParseUint(string(run), 10, 64)
	if err != nil || !ok {
		return 0, fmt.Errorf("invalid times of a thread %.40q: want three numbers", b)
	}
	return float64(ns) / 1e9, nil
}

func comm(root fs.FS, file string) (string, error) {
	b, err := fs.ReadFile(root, file)
	return word(strings.TrimSuffix(string(b), "\n")), err
}

// ranItself is the name of programs that run themselves, by the link /proc/self/exe.
const ranItself = "exe"

// program names a process by the first of its arguments or, if a program ran itself, by its name in the kernel or its
// file, which only its user and root see. The name of a weir process includes its command, and the role or the device
// of weir's own helpers. Other arguments belong to users, and are left out.
func program(args []byte, comm string, file func() string) string {
	argv := strings.Split(string(args), "\x00")
	if name := NameOf(argv); name != "" && name != ranItself {
		return name
	}
	if comm != ranItself {
		return comm
	}
	if name := strings.TrimSuffix(file(), " (deleted)"); name != "" {
		argv[0] = strings.ReplaceAll(name, " ", "_")
	}
	return cmp.Or(NameOf(argv), comm)
}

// NameOf names a process by the first of its arguments; "" if they do not tell.
func NameOf(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	name := path.Base(strings.TrimPrefix(argv[0], "-"))
	name, _, _ = strings.Cut(name, " ") // a program that changed its arguments
	name = strings.TrimSuffix(name, ":")
	if name == "." || name == "/" {
		return ""
	}
	if name != "weir" && !strings.HasPrefix(name, "weir-") || len(argv) < 2 || !isCommand(argv[1]) {
		return word(name)
	}
	name += "-" + argv[1]
	if slices.Contains([]string{"engine", "relay", "redirect"}, argv[1]) && len(argv) > 2 && isCommand(argv[2]) {
		name += "-" + argv[2]
	}
	return word(name)
}

// isCommand reports whether an argument can be a command of weir, a role or the name of a helper's device.
func isCommand(arg string) bool {
	return arg != "" && arg[0] != '-' && strings.Trim(arg, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// inode returns the number in a link such as net:[4026531840].
func inode(root fs.FS, link string) string {
	to, err := fs.ReadLink(root, link)
	if err != nil {
		return "0" // of another user
	}
	return Inode(to)
}

// Inode returns the number in the text of a namespace's link, "0" without one.
func Inode(link string) string {
	_, n, _ := strings.Cut(link, "[")
	n = strings.TrimSuffix(n, "]")
	if _, err := strconv.ParseUint(n, 10, 64); err != nil {
		return "0"
	}
	return n
}

func limited(name string) string { return name[:min(len(name), maxThreadName)] }

// The threads of weir's traffic generator, as program names them.
const (
	EngineClient = "weir-engine-agent" // sends or asks
	EngineServer = "weir-engine-serve" // receives or answers
	EngineLoad   = "weir-engine-hog"   // only loads a CPU as a condition of the trial
)

// Program splits the name of a thread: PROGRAM, or PROGRAM/THREAD.
func Program(name string) (program, thread string) {
	program, thread, _ = strings.Cut(name, "/")
	return program, thread
}

// A Task is a thread in the name of a counter of Threads.
type Task struct {
	PID, TID int
	NS       string
	Name     string
}

// ParseTask parses the name of a counter of Threads.
func ParseTask(key string) (t Task, ok bool) {
	f := strings.SplitN(key, ".", 5)
	if len(f) != 5 || f[0] != "task" {
		return t, false
	}
	pid, err1 := strconv.Atoi(f[1])
	tid, err2 := strconv.Atoi(f[2])
	return Task{pid, tid, f[3], f[4]}, err1 == nil && err2 == nil
}
