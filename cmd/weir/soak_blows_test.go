package main

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A blow is one thing that goes wrong.
type blow struct {
	name    string
	prepare func(*round, *process) bool // before the command starts; false: it cannot strike
	strike  func(*round, *process) bool // at a random moment; false: there was nothing to strike
	after   func(*round, *process)      // when the command has ended
}

// signals are the blows that need nothing but processes.
var signals = []blow{
	{"KILL weir", nil, hit(syscall.SIGKILL), nil},
	{"KILL child", nil, hitChild(syscall.SIGKILL), nil},
	{"KILL far", nil, hitFar, nil},
	{"TERM", nil, hit(syscall.SIGTERM), nil},
	{"INT", nil, hit(syscall.SIGINT), nil},
	{"HUP", nil, hit(syscall.SIGHUP), nil},
	{"TERM child", nil, hitChild(syscall.SIGTERM), nil},
	{"STOP, CONT", nil, pause, nil},
}

var blows = append(slices.Clone(signals),
	blow{"directory removed", nil, remove, removed},
	blow{"full disk", onSmallDisk, nil, nil},
	blow{"torn pipe", onPipe, tear, nil},
)

func hit(s syscall.Signal) func(*round, *process) bool {
	return func(_ *round, p *process) bool { return p.Process.Signal(s) == nil }
}

// hitChild strikes one of all processes below weir, whatever they do. Only the process that waits for weir's end to
// remove its control groups is spared: nothing would remove them after it.
func hitChild(s syscall.Signal) func(*round, *process) bool {
	return func(r *round, p *process) bool {
		return r.kill(slices.DeleteFunc(marked(r.mark), func(pid int) bool { return pid == p.Process.Pid }), s)
	}
}

// hitFar strikes a process of weir on another machine or in a pod.
func hitFar(r *round, _ *process) bool {
	var far []int
	for _, pid := range r.others() {
		cmdline, _ := os.ReadFile("/proc/" + pid + "/cmdline") // it can be gone
		if n, err := strconv.Atoi(pid); err == nil && r.stage != "here" && len(cmdline) > 0 && strings.HasPrefix(string(cmdline), r.far) && !strings.HasPrefix(string(cmdline), "sshd") {
			far = append(far, n)
		}
	}
	return r.kill(far, syscall.SIGKILL)
}

// pause stops a process for a moment.
func pause(r *round, p *process) bool {
	all := marked(r.mark)
	if len(all) == 0 {
		return false
	}
	pid := all[r.rng.IntN(len(all))]
	if syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return false
	}
	time.Sleep(time.Duration(50+r.rng.IntN(750)) * time.Millisecond) // the blow itself
	return syscall.Kill(pid, syscall.SIGCONT) == nil
}

func (r *round) kill(pids []int, s syscall.Signal) bool {
	return len(pids) > 0 && syscall.Kill(pids[r.rng.IntN(len(pids))], s) == nil
}

// marked returns the processes with an entry in their environment, but for the one that removes control groups.
func marked(mark string) (all []int) {
	for _, line := range withEnv(mark) {
		pid, cmdline, _ := strings.Cut(line, ": ")
		if n, err := strconv.Atoi(pid); err == nil && !strings.HasPrefix(cmdline, "weir sweep ") {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

// pids returns all processes.
func pids() map[string]bool {
	all := map[string]bool{}
	procs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is a constant
	for _, p := range procs {
		all[filepath.Base(p)] = true
	}
	return all
}

// others returns the processes that came since the round began and that weir has not started on this machine.
func (r *round) others() (all []string) {
	here := marked(r.mark)
	for pid := range pids() {
		n, _ := strconv.Atoi(pid) // a number, by its pattern
		if !r.before[pid] && !slices.Contains(here, n) {
			all = append(all, pid)
		}
	}
	slices.Sort(all)
	return all
}

// remove removes the results directory while the run writes to it.
func remove(r *round, _ *process) bool {
	if len(r.dirs()) == 0 || r.job != "" {
		return false
	}
	var err error
	for range 100 { // a file can come meanwhile
		if err = os.RemoveAll(r.out); err == nil {
			break
		}
	}
	if err != nil {
		r.t.Error(err)
	}
	r.recorded, r.removed = map[string]bool{}, true
	return true
}

// removed checks that the directory has not come back.
func removed(r *round, p *process) {
	if r.removed && exists(r.out) {
		r.t.Errorf("the directory that was removed is back\n%s", &p.stderr)
	}
	r.removed = false
}

// onSmallDisk gives the run a disk with little room, and moves what it leaves to the large one.
func onSmallDisk(r *round, p *process) bool {
	disk := r.out + ".disk"
	if err := os.MkdirAll(disk, 0o700); err != nil {
		r.t.Fatal(err)
	}
	room := used(r.out)/1024 + int64(4+r.rng.IntN(500))
	for i, a := range p.Args {
		if a == r.out {
			p.Args[i] = disk + "/out"
		}
	}
	const script = `mount -t tmpfs -o size=$1k soak "$2" || exit 3
disk=$2 out=$3; shift 3
if [ -e "$out" ]; then cp -r "$out" "$disk/out" || exit 3; fi
"$@"; status=$?
[ ! -e "$disk/out" ] || { rm -rf "$out" && cp -r "$disk/out" "$out"; } || exit 9
exit $status`
	spaces := []string{"unshare", "--mount"}
	if os.Geteuid() != 0 {
		spaces = append(spaces, "--user", "--map-root-user")
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		return false
	}
	p.Args = append(append(spaces, "sh", "-c", script, "sh", strconv.FormatInt(room, 10), disk, r.out, p.Path), p.Args[1:]...)
	p.Path = unshare
	return true
}

// used returns the room that files take, bytes, in pages.
func used(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // a missing directory has none
		if err == nil {
			if info, err := d.Info(); err == nil {
				sum += (info.Size() + 4095) / 4096 * 4096
			}
		}
		return nil
	})
	return sum
}

// onPipe connects what weir prints to a pipe, whose reader tear closes.
func onPipe(r *round, p *process) bool {
	in, out, err := os.Pipe()
	if err != nil {
		r.t.Fatal(err)
	}
	p.Stdout, p.Stderr, r.pipe = out, out, in
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&p.stderr, in) // until tear, or mend
	}()
	r.mend = func() {
		out.Close()
		<-done
		in.Close()
	}
	return true
}

func tear(r *round, _ *process) bool { return r.pipe.Close() == nil }
