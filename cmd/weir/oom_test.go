package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/record"
)

// A memoryGroup is a control group with a limit of memory, of either version.
type memoryGroup struct{ dir, limit, used, kills string }

// memoryBytes is room for a run, whose processes are this test's program.
const memoryBytes = 512 << 20

func newMemoryGroup(t *testing.T) memoryGroup {
	t.Helper()
	name := fmt.Sprintf("test-of-weir-%d-%s", os.Getpid(), strings.ReplaceAll(filepath.Base(t.Name()), " ", "-"))
	why := errors.New("only root makes control groups")
	for _, g := range []memoryGroup{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control"}, {"/sys/fs/cgroup", "memory.max", "memory.current", "memory.events"}} {
		if os.Geteuid() != 0 || !exists(filepath.Join(g.dir, "cgroup.procs")) {
			continue
		}
		g.dir = filepath.Join(g.dir, name)
		if why = os.Mkdir(g.dir, 0o755); why != nil {
			continue
		}
		t.Cleanup(func() {
			var err error
			eventually(t, "the group is empty", func() bool { err = os.Remove(g.dir); return err == nil || errors.Is(err, os.ErrNotExist) })
		})
		var f *os.File
		if f, why = os.OpenFile(filepath.Join(g.dir, g.limit), os.O_WRONLY, 0); why != nil { // the controller is elsewhere
			continue
		}
		_, why = fmt.Fprint(f, memoryBytes)
		f.Close()
		if why == nil {
			return g
		}
	}
	t.Skipf("not supported by this kernel: no control group limits memory here: %v", why)
	return memoryGroup{}
}

// start starts weir in the group.
func (g memoryGroup) start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{mark: "WEIR_TEST_MARK=" + t.TempDir()}
	p.Cmd = weir(p.mark)
	bin, err := exec.LookPath("weir")
	if err != nil {
		t.Fatal(err)
	}
	p.Path, p.Args = "/bin/sh", append([]string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, g.dir, bin}, args...)
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // normally it has already ended
	return p
}

// exhaust fills the group until the kernel kills a process of it: the victim, which is worth the least. Next is what fills it:
// an engine that starts again may need what the victim left before the filling ends.
func (g memoryGroup) exhaust(t *testing.T, victim int) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", victim), []byte("1000"), 0); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(g.dir, g.used))
	if err != nil {
		t.Fatal(err)
	}
	used, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	// Nobody can drop what is in a tmpfs; it goes with its mount namespace.
	const fill = `mount -t tmpfs -o size=1g fill /mnt && echo 999 >/proc/self/oom_score_adj && echo $$ >"$1/cgroup.procs" || exit 1
add() { dd if=/dev/zero of="$3" bs="$4" count="$5" oflag=append conv=notrunc 2>/dev/null; }
add "$1" "$2" "$3" 1M "$4"
tries=4000
until grep -q '^oom_kill [1-9]' "$1/$2"; do
	tries=$((tries - 1)); [ $tries -gt 0 ] || exit 2
	add "$1" "$2" "$3" 64k 4 || exit 3
done`
	out, err := exec.Command("unshare", "--mount", "sh", "-c", fill, "sh", g.dir, g.kills, "/mnt/fill", strconv.Itoa(max(0, (memoryBytes-used)>>20-64))).CombinedOutput()
	if kills, _ := os.ReadFile(filepath.Join(g.dir, g.kills)); !regexp.MustCompile(`(?m)^oom_kill [1-9]`).Match(kills) {
		t.Fatalf("fill the group: %v: no process was killed: %s\n%s", err, kills, out)
	}
}

// begins returns a process of p whose command line begins so.
func (p *process) begins(t *testing.T, command string) (pid int) {
	t.Helper()
	return p.running(t, command, func(_ int, cmdline string) bool { return strings.HasPrefix(cmdline, command) })
}

// A run in a control group whose memory runs out says so, whichever of its processes the kernel kills. It loses nothing that
// was measured, and leaves nothing behind.
func TestOutOfMemory(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	const said = `meanwhile the kernel killed \d+ process(es)? of its control group for lack of memory; the group may have 536870912 bytes \(/sys/fs/cgroup/\S+/memory\.(limit_in_bytes|max)\): raise that limit`
	for name, c := range map[string]struct {
		victim func(*testing.T, *process) int
		status int
		reason string // of a failed trial
		stderr string
	}{
		"engine": {func(t *testing.T, p *process) int { return p.begins(t, "weir engine agent") }, int(failure.Check), `h1: weir: signal: killed: ` + said, ""},
		"lab": {func(t *testing.T, p *process) int { return p.inner(t) }, int(failure.Environment), "",
			`lab process killed by signal 9 \(killed\): ` + said + `, or make the study smaller; if it was a run, continue it with weir run --resume`},
		"command": {func(_ *testing.T, p *process) int { return p.Process.Pid }, 128 + 9, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newMemoryGroup(t)
			dir := filepath.Join(t.TempDir(), "out")
			const all = 40
			p := g.start(t, "run", "-n", "host", "-p", "udp-rr", "--blocks", strconv.Itoa(all), "--duration", "200ms", "--warmup", "0s", "--keep-disturbed", "-o", dir)
			eventually(t, "a whole trial is recorded", func() bool { return len(recordedIn(dir)) > 0 })
			before := recordedIn(dir)
			g.exhaust(t, c.victim(t, p))
			// An engine that ends between two trials costs none, and a warning says so.
			if got := p.statusWithin(t, slow); got != c.status && (got != 0 || c.reason == "") || !regexp.MustCompile(c.stderr).Match(p.stderr.Bytes()) { // waits until all processes are gone
				t.Errorf("status %d, want %d\n%s", got, c.status, &p.stderr)
			}
			if c.reason != "" && !regexp.MustCompile(c.reason).Match(p.stderr.Bytes()) && !slices.ContainsFunc(results(t, dir), func(r record.Result) bool {
				return r.Status == record.Failed && regexp.MustCompile(c.reason).MatchString(r.Reason)
			}) {
				t.Errorf("no trial says %q:\n%s", c.reason, &p.stderr)
			}
			again := g.start(t, "run", "--resume", dir)
			if got := again.statusWithin(t, slow); got != 0 && got != int(failure.Check) { // a short trial can fail on a busy machine
				t.Errorf("resumed: status %d\n%s", got, &again.stderr)
			}
			if now := trials(t, dir); len(before) == 0 || len(now) != all {
				t.Errorf("%d trials of %d, %d before memory ran out", len(now), all, len(before))
			}
		})
	}
}
