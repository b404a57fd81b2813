package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/target"
)

// boot starts Script in a shell with more environment. Without other directories in it, those of
// every machine are used.
func boot(t *testing.T, shell []string, env ...string) *Pipe {
	t.Helper()
	nstest.Need(t)
	p, err := Start(append(shell, "-c", Script), append([]string{"XDG_RUNTIME_DIR=", "TMPDIR=", "HOME="}, env...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

var posix = []string{"sh"}

// path is the entry PATH for a shell: busybox uses nothing but its own tools, which dir gets.
func path(t *testing.T, shell []string, dir string) string {
	t.Helper()
	if shell[0] != "busybox" {
		return "PATH=" + os.Getenv("PATH")
	}
	if out, err := exec.Command("busybox", "--install", "-s", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return "PATH=" + dir
}

// empty fails the test when something is left in dir.
func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left in %s, %v", left, dir, err)
	}
}

// The program arrives through every shell, removes itself at once, and can start itself afterwards.
func TestPush(t *testing.T) {
	for _, shell := range [][]string{posix, {"dash"}, {"bash"}, {"bash", "--posix"}, {"busybox", "sh"}, {"mksh"}, {"zsh", "--emulate", "sh"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue // sh is everywhere
		}
		t.Run(strings.Join(shell, " "), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a b; $(c)`d`\"\\e*")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			p := boot(t, shell, "TMPDIR="+dir, "SSH_CONNECTION=10.0.0.1 40000 10.0.0.2 22", path(t, shell, t.TempDir()))
			n, hello, err := Dial(t.Context(), "far", p, &Programs{})
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			if hello.SSHConnection != "10.0.0.1 40000 10.0.0.2 22" {
				t.Errorf("hello %+v", hello)
			}
			empty(t, dir)
			var out bytes.Buffer
			if err := n.Run(t.Context(), target.Cmd{Argv: []string{"weir", "again"}, Stdout: &out, Stderr: &out}); err != nil || out.String() != "again\n" {
				t.Errorf("%q, %v", &out, err)
			}
		})
	}
}

// mount mounts a tmpfs on dir, which a test that needs it can do in its namespaces.
func mount(t *testing.T, dir string, flags uintptr, options string) string {
	t.Helper()
	nstest.Need(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("weir", dir, "tmpfs", flags, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Directories that are full, read-only, missing or without programs are passed over.
func TestDirectories(t *testing.T) {
	base := mount(t, "/mnt", 0, "")
	full := mount(t, base+"/full", 0, "size=64k")
	fixed := mount(t, base+"/fixed", unix.MS_RDONLY, "")
	cache, tools := base+"/home/.cache", base+"/tools"
	if err := errors.Join(os.MkdirAll(cache, 0o700), os.Mkdir(tools, 0o700)); err != nil {
		t.Fatal(err)
	}
	noexec := []string{"/tmp", "/var/tmp", "/dev/shm"}
	for _, dir := range noexec {
		mount(t, dir, unix.MS_NOEXEC, "")
	}
	env := []string{"XDG_RUNTIME_DIR=" + full, "TMPDIR=" + fixed}
	n, _, err := Dial(t.Context(), "far", boot(t, posix, append(env, "HOME="+base+"/home")...), &Programs{})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	for _, shell := range [][]string{posix, {"busybox", "sh"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		_, _, err = Dial(t.Context(), "far", boot(t, shell, append(env, "HOME=/nowhere", path(t, shell, tools))...), &Programs{})
		for _, want := range []string{
			"far: no directory of the machine can hold and run weir: " + full + ": no room for ", " bytes: head: ", "; " + fixed + ": mkdir: ", "Read-only file system; /tmp: ",
			"; /var/tmp: programs cannot run there (noexec?): ", "; /nowhere/.cache: mkdir: ", "make room in one of them",
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %s", shell, err, want)
			}
		}
		for _, dir := range append(noexec, full, fixed, cache) {
			empty(t, dir)
		}
	}
}

// other is an architecture that this machine does not have, and its name for Go.
func other() (machine, goarch string) {
	if runtime.GOARCH == "arm64" {
		return "x86_64", "amd64"
	}
	return "aarch64", "arm64"
}

// Every failure names its reason, and nothing is left.
func TestPushFails(t *testing.T) {
	tools := func(content string) string { // a directory with a uname that prints content
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "uname"), []byte("#!/bin/sh\necho '"+content+"'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return dir + ":" + os.Getenv("PATH")
	}
	machine, goarch := other()
	mine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	for name, c := range map[string]struct {
		shell    []string
		env      string
		programs Programs
		want     string
	}{
		"no shell":                    {[]string{"env", "no-such-shell"}, "", Programs{}, "far: env ended with exit status 127: env: "},
		"no tools":                    {[]string{"/bin/sh"}, "PATH=/nowhere", Programs{}, "the machine has no program chmod"},
		"unknown architecture":        {posix, "PATH=" + tools("vax\x1b[1m"), Programs{}, `no program for the architecture "vax\\x1b[1m": weir knows x86_64, `},
		"another architecture":        {posix, "PATH=" + tools(machine), Programs{}, "/weir-linux-" + goarch + ": no such file or directory; put weir of the same version for " + goarch + " there"},
		"a file that is no program":   {posix, "", Programs{map[string]string{mine: "bootstrap_test.go"}}, "no program for the architecture " + mine + ": bad magic number"},
		"another machine's program":   {posix, "PATH=" + tools(machine), Programs{map[string]string{machine: "/bin/false"}}, "no program for the architecture " + machine + ": /bin/false is for EM_"},
		"a program that does not run": {posix, "", Programs{map[string]string{mine: "/bin/false"}}, "weir does not run on the machine: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := boot(t, c.shell, "TMPDIR="+dir, c.env)
			if _, _, err := Dial(t.Context(), "far", p, &c.programs); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
			empty(t, dir)
		})
	}
}

// A meddler changes or cuts what is written to a pipe.
type meddler struct {
	*Pipe
	left int  // bytes until then
	cut  bool // else a bit flips
}

func (m *meddler) Write(b []byte) (int, error) {
	at := m.left
	m.left -= len(b)
	switch {
	case at < 0 || at >= len(b):
	case m.cut:
		_, _ = m.Pipe.Write(b[:at])
		return at, m.in.Close()
	default:
		b = bytes.Clone(b)
		b[at] ^= 4
	}
	return m.Pipe.Write(b)
}

// A program that arrives damaged or in part is not run, and not left behind.
func TestPushDamaged(t *testing.T) {
	for cut, want := range map[bool]string{false: "the checksum is wrong; try again", true: "weir did not arrive whole"} {
		dir := t.TempDir()
		m := &meddler{boot(t, posix, "TMPDIR="+dir), 1 << 20, cut}
		if _, _, err := Dial(t.Context(), "far", m, &Programs{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		empty(t, dir)
	}
}

// near is a near end that runs a program far away until it is killed.
func near(args []string) error {
	p, err := Start([]string{"sh", "-c", Script}, []string{"XDG_RUNTIME_DIR=", "TMPDIR=" + args[0]})
	if err != nil {
		return err
	}
	n, _, err := Dial(context.Background(), "far", p, &Programs{})
	if err != nil {
		return err
	}
	return n.Run(context.Background(), target.Cmd{Argv: []string{"sh", "-c", "setsid sleep 1000 & echo $!; wait"}, Stdout: os.Stdout})
}

// A near end that is killed leaves no process and no file at the far end.
func TestNearEndKilled(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"weir", "near", dir}
	pid := make(chan string, 1)
	cmd.Stdout, cmd.Stderr = first(pid), os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sleeper := <-pid
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	reap()
	if _, err := os.Stat("/proc/" + sleeper); err == nil {
		t.Error("its program is left")
	}
	empty(t, dir)
}

// reap waits for all children of this process, the first one of its namespace, until none is left.
func reap() {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); errors.Is(err, syscall.ECHILD) {
			return
		}
	}
}

// A shell that nobody talks to ends, where its read knows a time.
func TestNobodyAttaches(t *testing.T) {
	const wait = "-t 600"
	if !strings.Contains(Script, wait) {
		t.Fatalf("the script has no %s", wait)
	}
	for name, said := range map[string]string{"before the nonce": "", "before the size": "N0NCE\n"} {
		for _, shell := range [][]string{{"bash"}, {"bash", "--posix"}, {"busybox", "sh"}, {"mksh"}, {"zsh", "--emulate", "sh"}} {
			if _, err := exec.LookPath(shell[0]); err != nil {
				continue
			}
			t.Run(name+" "+strings.Join(shell, " "), func(t *testing.T) {
				t.Parallel()
				p, err := Start(append(shell, "-c", strings.ReplaceAll(Script, wait, "-t 1")), nil)
				if err != nil {
					t.Fatal(err)
				}
				late := time.AfterFunc(20*time.Second, func() { p.Close() })
				if _, err := io.WriteString(p, said); err != nil {
					t.Error(err)
				}
				_, err = io.Copy(io.Discard, p) // until it ends
				if !late.Stop() {
					t.Errorf("it still waits after 20 s: %v", err)
				}
				p.Close()
			})
		}
	}
}

// Quotes of login shells keep the script together.
func TestScriptIsQuotable(t *testing.T) {
	if strings.ContainsAny(Script, "'!\n") || strings.Contains(strings.ReplaceAll(Script, `\n`, ""), `\`) {
		t.Errorf("the script has a character with a meaning in quotes: %s", Script)
	}
}

// The checksums are those of cksum(1).
func TestCksum(t *testing.T) {
	for _, content := range []string{"", "123456789", strings.Repeat("weir", 1<<20)} {
		cmd := exec.Command("cksum")
		cmd.Stdin = strings.NewReader(content)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		size, sum, err := cksum(strings.NewReader(content))
		if got := strconv.FormatUint(uint64(sum), 10) + " " + strconv.FormatInt(size, 10) + "\n"; err != nil || got != string(out) {
			t.Errorf("%.20q: %s, %v, want %s", content, got, err, out)
		}
	}
	if _, _, err := cksum(io.MultiReader(strings.NewReader("x"), failing{})); err == nil {
		t.Error("an error of the file was lost")
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken disk") }
