package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weir-bench/weir/internal/cli"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/image"
	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/session"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/target/kube/fakekube"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/target/vm"
)

func TestMain(m *testing.M) {
	// Most tests wait for weir, which mostly waits. Two at a time, the default with two CPUs, would
	// take a minute.
	if runtime.GOMAXPROCS(0) < 4 {
		if err := flag.Set("test.parallel", "4"); err != nil {
			panic(err)
		}
	}
	if len(os.Args) > 1 && (os.Args[1] == "host" || filepath.Base(os.Args[0]) == "exe") { // started by another program, as /proc/PID/exe
		os.Exit(cli.Main("test", os.Args[1:]))
	}
	if filepath.Base(os.Args[0]) == "kubectl" { // see inCluster
		os.Exit(fakekube.Main(os.Args[1:]))
	}
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} { // weir ignores what it inherits as ignored, as from nohup
		if strings.HasSuffix(os.Args[0], ".test") && signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	run := func() { os.Exit(cli.Main("test", os.Args[1:])) }
	testscript.Main(m, map[string]func(){"weir": run, "kubectl-weir": run, "weir-amd64": run, "weir-arm64": run})
}

// TestScript runs the scripts in testdata, which use the command line as a user does. UPDATE=1
// rewrites the expected output.
func TestScript(t *testing.T) { testscript.Run(t, scripts(t, "testdata/*.txtar")) }

// TestScriptAlone runs the scripts that need whole CPUs, or leave none to others: MPI polls, and
// with a third program each message takes a time slice. A guest without KVM is emulated. Some judge
// how long an event lasted.
func TestScriptAlone(t *testing.T) {
	p := scripts(t, "testdata/alone/*.txtar")
	for _, file := range p.Files {
		t.Run("", func(t *testing.T) {
			p.Files = []string{file}
			testscript.Run(t, p)
		})
	}
}

func scripts(t *testing.T, pattern string) testscript.Params {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	recorded, err := filepath.Abs("../../internal/probe/testdata")
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := filepath.Abs("../../scripts/hosts")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Files:               files,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Defer(func() { // a failed script leaves its topologies up
				up, _ := filepath.Glob(filepath.Join(e.WorkDir, "run", "weir", "*.sock"))
				for _, socket := range up {
					_ = session.Down(context.Background(), socket)
				}
			})
			e.Setenv("RECORDED", recorded) // recorded output of tools
			e.Setenv("HOSTS", hosts)
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			if cache, err := os.UserCacheDir(); err == nil {
				e.Setenv("XDG_CACHE_HOME", cache) // holds what make has built, and perhaps a guest's kernel; HOME is unset
			}
			path, err := exec.LookPath("weir")
			e.Setenv("WEIR", path)
			return err
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "lab":
				return labErr() == nil, nil
			case "root":
				return os.Geteuid() == 0, nil
			case "static":
				return staticErr() == nil, nil
			case "tun":
				return tunErr() == nil, nil
			case "guest":
				return guestErr() == nil, nil
			case "plugins":
				return facts.Find("host-local") != "", nil
			case "validators":
				return facts.Find("rocrate-validator") != "" && facts.Find("cffconvert") != "", nil
			case "flanneld":
				return facts.Find("flanneld") != "", nil
			case "delay": // see internal/target/lab
				err := exec.Command("unshare", "--user", "--map-root-user", "--net", "sh", "-c", "tc qdisc add dev lo root netem || test -e /proc/sys/net/bridge").Run()
				return err == nil, nil
			case "esp": // needed by an encrypted overlay, see internal/network
				add := "ip xfrm state add src 127.0.0.1 dst 127.0.0.1 proto esp spi 1 mode transport aead 'rfc4106(gcm(aes))' 0x0123456789abcdef0123456789abcdef01234567 64"
				return exec.Command("unshare", "--net", "sh", "-c", add).Run() == nil, nil
			case "hosts":
				return exec.Command(hosts, "--slow", "a=200mbit", "a", "true").Run() == nil, nil
			case "profile":
				return profile.Check(local.CPUs()) == nil, nil
			case "userns":
				return exec.Command("unshare", "--user", "--map-root-user", "--mount", "true").Run() == nil, nil
			}
			return false, errors.New("unknown condition")
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"leftover": leftover,
			"await":    await,
			"status":   status,
			"trials":   listTrials,
			"hog":      hog,
			"valid":    valid,
		},
	}
}

func labErr() error {
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "true")
	if os.Geteuid() == 0 {
		cmd = exec.Command("unshare", "--net", "--pid", "--fork", "true")
	}
	return cmd.Run()
}

func staticErr() error {
	_, err := image.ReadProgram("")
	return err
}

func guestErr() error {
	for _, c := range vm.Checks() {
		if !c.OK && c.Name != "guest: KVM" {
			return errors.New(c.Detail)
		}
	}
	return nil
}

// status N COMMAND… runs a command and fails unless its exit status is N.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// trials DIR FILE writes the IDs of the trials in DIR to FILE, in order.
func listTrials(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: trials DIR FILE")
	}
	c, err := store.Read(ts.MkAbs(args[0]))
	ts.Check(errors.Join(append(c.Problems, err)...))
	var b strings.Builder
	for _, r := range c.Results {
		b.WriteString(r.Trial + "\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o666))
}

func hog(ts *testscript.TestScript, _ bool, _ []string) {
	var stop atomic.Bool
	ts.Defer(func() { stop.Store(true) })
	for range runtime.NumCPU() {
		go func() {
			for !stop.Load() {
			}
		}()
	}
}

// leftover fails if a process still has the script's work directory in its environment, as
// everything that weir starts here does.
func leftover(ts *testscript.TestScript, _ bool, _ []string) {
	work := "WORK=" + ts.Getenv("WORK")
	deadline := time.Now().Add(5 * time.Second)
	for {
		left := withEnv(work)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("left processes: %s", strings.Join(left, "; "))
		}
		time.Sleep(5 * time.Millisecond) // the kernel ends a PID namespace in its own time
	}
}
