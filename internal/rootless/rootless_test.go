package rootless_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/rootless"
)

func TestMain(m *testing.M) { nstest.Main(m, weir) }

type interrupted struct{ signal syscall.Signal }

func (i *interrupted) Error() string          { return "interrupted" }
func (i *interrupted) Signal() syscall.Signal { return i.signal }

var errPlain = errors.New("enough")

// weir is both processes: the first starts the second with args.
func weir(args []string) int {
	if rootless.Inside() {
		return inside(args)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		if <-sigs == syscall.SIGUSR1 {
			cancel(&interrupted{syscall.SIGHUP})
		}
		cancel(errPlain)
	}()
	if args[0] == "late" {
		cancel(errPlain)
	}
	code, err := rootless.Reexec(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 100
	}
	return code
}

func inside(args []string) int {
	if args[0] == "wait" {
		// The first process passes on a signal now, which would end this one.
		fmt.Println("started")
		_, _ = os.Stdin.Read(make([]byte, 1))
	}
	sigs := make(chan os.Signal, 2)
	signal.Notify(sigs, syscall.SIGHUP, syscall.SIGTERM)
	if err := rootless.Setup(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 101
	}
	switch args[0] {
	case "exit":
		return 7
	case "wait":
		if s, ok := (<-sigs).(syscall.Signal); ok {
			return int(s)
		}
	case "die":
		// Process 1 of a namespace cannot kill itself: its parent must.
		fmt.Println("ready")
		select {}
	case "look":
		procs, _ := filepath.Glob("/proc/[0-9]*")
		links, _ := os.ReadDir("/sys/class/net")
		err := unix.Mount("tmpfs", args[1], "tmpfs", 0, "")
		fmt.Printf("pid %d uid %d processes %d devices %d mount %v", os.Getpid(), os.Getuid(), len(procs), len(links), err)
		return 0
	}
	return 102
}

func command(args ...string) (cmd *exec.Cmd, out *bytes.Buffer) {
	cmd, out = exec.Command("/proc/self/exe", args...), &bytes.Buffer{}
	cmd.Args[0] = "weir"
	cmd.Stderr = out
	return cmd, out
}

// started starts a command, and returns once it has said something.
func started(t *testing.T, args ...string) (cmd *exec.Cmd, in io.Closer, out *bytes.Buffer) {
	t.Helper()
	cmd, out = command(args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	return cmd, in, out
}

func status(t *testing.T, cmd *exec.Cmd, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

func TestStatus(t *testing.T) {
	nstest.Need(t)
	cmd, out := command("exit")
	if got := status(t, cmd, cmd.Run()); got != 7 {
		t.Errorf("status %d, want that of the second process, 7\n%s", got, out)
	}
	cmd, out = command("late")
	if got := status(t, cmd, cmd.Run()); got != 100 || !strings.Contains(out.String(), errPlain.Error()) {
		t.Errorf("a context that is done: status %d\n%s", got, out)
	}
}

// The second process is root, process 1 and alone, and owns its mounts.
func TestInside(t *testing.T) {
	nstest.Need(t)
	dir := t.TempDir()
	cmd, out := command("look", dir)
	cmd.Stdout = out
	if got := status(t, cmd, cmd.Run()); got != 0 || !strings.HasPrefix(out.String(), "pid 1 uid 0 processes 1 ") || !strings.HasSuffix(out.String(), "mount <nil>") {
		t.Errorf("status %d\n%s", got, out)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("its mount is seen outside: %v\n%s", err, mounts)
	}
}

// A signal sent before the second process is ready waits until it is.
func TestSignalWaits(t *testing.T) {
	nstest.Need(t)
	for _, c := range []struct{ send, want syscall.Signal }{
		{syscall.SIGUSR1, syscall.SIGHUP},  // the signal that ended the context
		{syscall.SIGUSR2, syscall.SIGTERM}, // no signal did
	} {
		cmd, in, out := started(t, "wait")
		if err := cmd.Process.Signal(c.send); err != nil {
			t.Fatal(err)
		}
		in.Close() // it becomes ready only now
		if got := status(t, cmd, cmd.Wait()); got != int(c.want) {
			t.Errorf("%v: status %d, want %d\n%s", c.send, got, c.want, out)
		}
	}
}

func TestSecondProcessKilled(t *testing.T) {
	nstest.Need(t)
	cmd, _, out := started(t, "die")
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, f := range children {
		b, _ := os.ReadFile(f) // the thread can be gone
		for _, w := range strings.Fields(string(b)) {
			var pid int
			if _, err := fmt.Sscan(w, &pid); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
	if got := status(t, cmd, cmd.Wait()); killed != 1 || got != 100 || !strings.Contains(out.String(), "lab process killed by signal 9 (killed)") {
		t.Errorf("killed %d processes, status %d\n%s", killed, got, out)
	}
}

// A first process that died before the kernel would signal its death leaves no second one behind.
func TestOrphaned(t *testing.T) {
	nstest.Need(t)
	ready, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outside, err := os.Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	cmd, out := command("die") // runs until it is killed
	cmd.Env = append(os.Environ(), "WEIR_INSIDE=1")
	cmd.ExtraFiles = []*os.File{end, outside}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	ready.Close() // as its death would
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end.Close()
	late := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	if got := status(t, cmd, cmd.Wait()); !late.Stop() || got != 3 {
		t.Errorf("status %d, want 3\n%s", got, out)
	}
}

// Ctrl-Z does not stop only half of the processes: it stops none, and says why.
func TestNoPause(t *testing.T) {
	nstest.Need(t)
	cmd, in, out := started(t, "wait")
	for _, s := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGUSR2} {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()
	if got := status(t, cmd, cmd.Wait()); got != int(syscall.SIGTERM) {
		t.Errorf("status %d\n%s", got, out)
	}
}
