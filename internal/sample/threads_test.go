package sample

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
)

// tree is a /proc with processes that are busy for some ns.
func tree(busy map[string]int) fstest.MapFS {
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	m := fstest.MapFS{"proc/self/schedstat": text("1 0 1\n")}
	process := func(pid, comm, args, ns string) {
		m["proc/"+pid+"/cmdline"] = text(args)
		m["proc/"+pid+"/comm"] = text(comm + "\n")
		m["proc/"+pid+"/ns/net"] = &fstest.MapFile{Data: []byte("net:[" + ns + "]"), Mode: fs.ModeSymlink | 0o777}
	}
	thread := func(pid, tid, comm string) {
		m["proc/"+pid+"/task/"+tid+"/comm"] = text(comm + "\n")
		m["proc/"+pid+"/task/"+tid+"/schedstat"] = text(fmt.Sprintf("%d 5 6\n", busy[tid]))
	}
	process("7", "qemu-system-x86", "/usr/bin/qemu-system-x86_64\x00-name\x00", "4026531840")
	thread("7", "7", "qemu-system-x86")
	thread("7", "8", "CPU 0/KVM")
	thread("7", "9", "vhost-7")
	process("21", "exe", "weir\x00engine\x00serve\x00--json\x00", "4026531841")
	thread("21", "21", "exe")
	m["proc/3/cmdline"] = text("")
	m["proc/3/stat"] = text("3 (ksoftirqd/1) S 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 20 0\n")
	m["proc/3/schedstat"] = text(fmt.Sprintf("%d 5 6\n", busy["3"]))
	m["proc/4/cmdline"] = text("")
	m["proc/4/stat"] = text("4 (rcu_sched) I 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 20 0\n")
	m["proc/5/cmdline"] = text("") // a zombie
	m["proc/5/stat"] = text("5 (sleep) Z 1 0 0 0 -1 4194560 0 0 0 0 0 0 0 0 20 0\n")
	return m
}

// A program that runs itself is called what it is, if anyone can see that.
func TestRanItself(t *testing.T) {
	for _, c := range []struct{ args, comm, file, want string }{
		{"/usr/bin/iperf3\x00-s\x00", "iperf3", "", "iperf3"},
		{"/proc/self/exe\x00init\x00", "runc:[1:CHILD]", "/usr/bin/runc", "runc:[1:CHILD]"},
		{"/proc/self/exe\x00init\x00", "exe", "/usr/bin/runc", "runc"},
		{"/proc/self/exe\x00init\x00", "exe", "/tmp/a b (deleted)", "a_b"},
		{"/proc/self/exe\x00host\x00", "exe", "/usr/bin/weir", "weir-host"},
		{"/proc/self/exe\x00init\x00", "exe", "", "exe"},
	} {
		if got := program([]byte(c.args), c.comm, func() string { return c.file }); got != c.want {
			t.Errorf("%q, %q, %q: %q, want %q", c.args, c.comm, c.file, got, c.want)
		}
	}
}

func TestThreads(t *testing.T) {
	th := WatchThreads(tree(map[string]int{"7": 1e6, "8": 2_500_000_000, "9": 3e6, "21": 4e6, "3": 5e6}), nil)
	if err := th.Find(); err != nil {
		t.Fatal(err)
	}
	defer th.Forget()
	want := Counters{
		"task.7.7.4026531840.qemu-system-x86_64":           0.001,
		"task.7.8.4026531840.qemu-system-x86_64/CPU_0/KVM": 2.5,
		"task.7.9.4026531840.qemu-system-x86_64/vhost":     0.003,
		"task.21.21.4026531841.weir-engine-serve":          0.004,
		"task.0.3.0.ksoftirqd/1":                           0.005,
	}
	if got := th.Read(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	task, ok := ParseTask("task.7.8.4026531840.qemu-system-x86_64/CPU_0/KVM")
	if want := (Task{7, 8, "4026531840", "qemu-system-x86_64/CPU_0/KVM"}); !ok || task != want {
		t.Errorf("%+v, want %+v", task, want)
	}
	for _, bad := range []string{"cpu0.idle", "task.7", "task.x.8.9.name", "task.7.x.9.name"} {
		if task, ok := ParseTask(bad); ok {
			t.Errorf("%s is %+v", bad, task)
		}
	}
}

// Kernel threads come from outside the PID namespace where that hides them.
func TestThreadsOutside(t *testing.T) {
	outside, err := fs.Sub(tree(map[string]int{"3": 7e9}), "proc")
	if err != nil {
		t.Fatal(err)
	}
	th := WatchThreads(fstest.MapFS{"proc/self/schedstat": {Data: []byte("1 0 1\n")}}, outside)
	defer th.Forget()
	if err := th.Find(); err != nil {
		t.Fatal(err)
	}
	if got := th.Read(); !maps.Equal(got, Counters{"task.0.3.0.ksoftirqd/1": 7}) {
		t.Errorf("%v", got)
	}
}

// Without CONFIG_SCHED_INFO, or with it switched off, threads have ticks.
func TestThreadsInTicks(t *testing.T) {
	for _, schedstat := range []string{"0 0 0\n", ""} {
		m := fstest.MapFS{
			"proc/7/cmdline":     {Data: []byte("sleep")},
			"proc/7/comm":        {Data: []byte("sleep")},
			"proc/7/task/7/comm": {Data: []byte("sleep")},
			"proc/7/task/7/stat": {Data: []byte("7 (sl) eep) S 1 7 7 0 -1 0 0 0 0 0 120 30 0 0 20 0\n")},
		}
		if schedstat != "" {
			m["proc/self/schedstat"] = &fstest.MapFile{Data: []byte(schedstat)}
		}
		th := WatchThreads(m, nil)
		if err := th.Find(); err != nil {
			t.Fatal(err)
		}
		if got := th.Read(); !maps.Equal(got, Counters{"task.7.7.0.sleep": 1.5}) {
			t.Errorf("%q: %v", schedstat, got)
		}
		th.Forget()
	}
}

// Only the threads that used most are open, and names are limited.
func TestThreadsAreBounded(t *testing.T) {
	m := fstest.MapFS{"proc/self/schedstat": {Data: []byte("1 0 1\n")}}
	for pid := range 3 * mostThreads {
		dir := fmt.Sprintf("proc/%d/", pid+1)
		m[dir+"cmdline"] = &fstest.MapFile{Data: []byte(strings.Repeat("x", 5000))}
		m[dir+"comm"] = &fstest.MapFile{Data: []byte("x")}
		task := fmt.Sprintf("%stask/%d/", dir, pid+1)
		m[task+"comm"] = &fstest.MapFile{Data: []byte("a\x1b b")}
		m[task+"schedstat"] = &fstest.MapFile{Data: fmt.Appendf(nil, "%d 0 0\n", pid)}
	}
	th := WatchThreads(m, nil)
	defer th.Forget()
	if err := th.Find(); err != nil {
		t.Fatal(err)
	}
	got := th.Read()
	if len(got) != mostThreads {
		t.Errorf("%d threads are read, want %d", len(got), mostThreads)
	}
	for key, used := range got {
		task, ok := ParseTask(key)
		if !ok || len(task.Name) > maxThreadName || used < float64(2*mostThreads-1)/1e9 {
			t.Errorf("%q with %v s", key, used)
		}
	}
}

// What was busy long ago gives way to what is busy now, and to what is new.
func TestThreadsThatAreBusyNow(t *testing.T) {
	busy := map[string]int{}
	m := fstest.MapFS{"proc/self/schedstat": {Data: []byte("1 0 1\n")}}
	add := func(pid string, ns int) {
		busy[pid] = ns
		for name, text := range map[string]string{"cmdline": "p" + pid, "comm": "p" + pid, "task/" + pid + "/comm": "p" + pid, "task/" + pid + "/schedstat": fmt.Sprintf("%d 0 0\n", ns)} {
			m["proc/"+pid+"/"+name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	for pid := range mostThreads + 1 {
		add(fmt.Sprint(pid+100), 1e9*(pid+1))
	}
	th := WatchThreads(m, nil)
	defer th.Forget()
	has := func(pid string) bool {
		_, ok := th.Read()["task."+pid+"."+pid+".0.p"+pid]
		return ok
	}
	if err := th.Find(); err != nil || has("100") || !has("101") {
		t.Fatalf("the least busy of all: %v, the next: %v, %v", has("100"), has("101"), err)
	}
	add("100", 1e9+5)
	add("99", 7)
	if err := th.FindNew(); err != nil || !has("100") || !has("99") || has("101") || has("102") {
		t.Errorf("busy now: %v, new: %v, idle: %v, %v; %v", has("100"), has("99"), has("101"), has("102"), err)
	}
}

// Between fork and exec, a process has its parent's name: that does not stay.
func TestThreadsOfANewProgram(t *testing.T) {
	m := tree(map[string]int{"21": 4e6})
	th := WatchThreads(m, nil)
	defer th.Forget()
	if err := th.Find(); err != nil {
		t.Fatal(err)
	}
	m["proc/21/cmdline"], m["proc/21/comm"], m["proc/21/task/21/comm"] = &fstest.MapFile{Data: []byte("qperf\x00h\x00")}, &fstest.MapFile{Data: []byte("qperf\n")}, &fstest.MapFile{Data: []byte("qperf\n")}
	if err := th.FindNew(); err != nil {
		t.Fatal(err)
	}
	if got := th.Read(); got["task.21.21.4026531841.qperf"] != 0.004 {
		t.Errorf("%v", got)
	}
}

// A thread of this machine that computes shows it, and one that has ended is dropped.
func TestThreadsOfThisMachine(t *testing.T) {
	th := WatchThreads(os.DirFS("/"), nil)
	defer th.Forget()
	tid, ended := make(chan int), make(chan bool)
	var stop atomic.Bool
	var compute func()
	compute = func() {
		runtime.LockOSThread() // never unlocked: the thread ends
		if syscall.Gettid() == os.Getpid() {
			go compute() // the first thread never ends
			<-ended
			return
		}
		defer close(ended)
		tid <- syscall.Gettid()
		for !stop.Load() { // computes
		}
	}
	go compute()
	mine := fmt.Sprintf("task.%d.%d.", os.Getpid(), <-tid)
	used := func() (seconds float64, ok bool) {
		for key, v := range th.Read() {
			if strings.HasPrefix(key, mine) {
				return v, true
			}
		}
		return 0, false
	}
	if err := th.Find(); err != nil {
		t.Fatal(err)
	}
	from, ok := used()
	for ; !ok; from, ok = used() { // until it has used more than others
		if err := th.FindNew(); err != nil {
			t.Fatal(err)
		}
	}
	for to := from; to < from+0.02; to, _ = used() {
	}
	stop.Store(true)
	<-ended
	for ok { // the kernel ends it soon
		_, ok = used()
	}
	th.Forget()
	if len(th.Read()) > 0 {
		t.Error("threads are read after Forget")
	}
}

// What a program can put into its name and arguments must not break a key.
func FuzzThreads(f *testing.F) {
	f.Add([]byte("weir\x00engine\x00agent"), []byte("a.b/c d"), []byte("12 0 0\n"))
	f.Add([]byte{}, []byte{}, []byte("-1"))
	f.Fuzz(func(t *testing.T, args, comm, times []byte) {
		m := fstest.MapFS{
			"proc/self/schedstat":     {Data: []byte("1 0 1\n")},
			"proc/7/stat":             {Data: times},
			"proc/7/cmdline":          {Data: args},
			"proc/7/comm":             {Data: comm},
			"proc/7/task/8/comm":      {Data: comm},
			"proc/7/task/8/schedstat": {Data: times},
		}
		th := WatchThreads(m, nil)
		defer th.Forget()
		_ = th.Find()
		for key, v := range th.Read() {
			task, ok := ParseTask(key)
			if !ok || task.PID != 7 || task.TID != 8 || len(task.Name) > maxThreadName || v < 0 || strings.ContainsFunc(task.Name, func(r rune) bool { return r <= ' ' || r > '~' }) {
				t.Errorf("%q: %v", key, v)
			}
		}
	})
}

func FuzzThreadTime(f *testing.F) {
	f.Add([]byte("1 2 3\n"), false)
	f.Add([]byte("7 (a) S 0 1 1 0 -1 0 0 0 0 0 1 2 0 0"), true)
	f.Fuzz(func(t *testing.T, b []byte, ticks bool) {
		if v, err := threadTime(b, ticks); err == nil && !(v >= 0 && v < 1e19) {
			t.Errorf("%q: %v s", b, v)
		}
	})
}

// The cost of a sample of all threads of this machine; at 10 Hz, a second has ten.
func BenchmarkThreadsRead(b *testing.B) {
	t := WatchThreads(os.DirFS("/"), nil)
	defer t.Forget()
	if err := t.Find(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(len(t.open)), "threads")
	b.ReportAllocs()
	for b.Loop() {
		t.Read()
	}
}

// The cost of looking for threads, about once a second.
func BenchmarkThreadsFind(b *testing.B) {
	t := WatchThreads(os.DirFS("/"), nil)
	defer t.Forget()
	b.ReportAllocs()
	for b.Loop() {
		if err := t.list(true); err != nil {
			b.Fatal(err)
		}
	}
}

var _ io.ReaderAt = (*os.File)(nil) // what Threads needs of files

// What a user types after a command is no name.
func TestProgramLeavesArgumentsOut(t *testing.T) {
	for args, want := range map[string]string{
		"weir\x00run\x00st/B.yaml":                          "weir-run",
		"/usr/bin/weir\x00report\x00results":                "weir-report",
		"weir\x00--lang\x00zh":                              "weir",
		"weir\x00/home/ada/x":                               "weir",
		"weir\x00engine\x00agent\x00--json":                 "weir-engine-agent",
		"weir\x00relay\x00relay0\x00--to\x00192.0.2.1:6783": "weir-relay-relay0",
		"weir\x00relay\x00--help":                           "weir-relay",
		"iperf3\x00-c\x00secret":                            "iperf3",
		"/opt/x/ovs-vswitchd: monitoring":                   "ovs-vswitchd",
	} {
		if got := program([]byte(args), "comm", func() string { return "" }); got != want {
			t.Errorf("%q is %q, want %q", args, got, want)
		}
	}
}
