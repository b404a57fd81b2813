package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// daemon stands in for programs: args are actions in order.
func daemon(args []string) int {
	for _, a := range args {
		do, with, _ := strings.Cut(a, "=")
		switch do {
		case "say":
			fmt.Println(with)
		case "env":
			fmt.Fprintln(os.Stderr, os.Getenv(with))
		case "touch":
			if err := os.WriteFile(with, nil, 0o644); err != nil {
				fmt.Println(err)
				return 1
			}
		case "need":
			if _, err := os.Stat(with); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		case "fork": // a daemon in another session, which outlives its parent
			cmd := exec.Command("/proc/self/exe", "hang")
			cmd.Args[0] = "weir"
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := cmd.Start(); err != nil {
				fmt.Println(err)
				return 1
			}
		case "kill":
			pid, err := strconv.Atoi(with)
			if err == nil {
				err = syscall.Kill(pid, syscall.SIGKILL)
			}
			if err != nil {
				fmt.Println(err)
				return 1
			}
		case "exit":
			return 3
		case "hang":
			hang()
		}
	}
	return 0
}

// hang waits for a fatal signal. An empty select would end a program without other goroutines.
func hang() { time.Sleep(time.Hour) }

func weirDaemon(args ...string) []string { return append([]string{"weir", "daemon"}, args...) }

func openLogs(t *testing.T, names ...string) (s *target.Site, logs string) {
	t.Helper()
	nstest.Need(t)
	logs = t.TempDir()
	s, err := Open(t.Context(), names, logs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, logs
}

// A service finds its files, is awaited by each readiness check, leaves a log, and is visible to
// later commands. Its children end with the site, or the leak check would find them.
func TestService(t *testing.T) {
	s, logs := openLogs(t, "a", "b")
	err := s.Apply(t.Context(), []plan.Step{
		{In: "a", File: &plan.File{Name: "etc/conf", Content: "in {dir}\n", Mode: 0o600}},
		{In: "a", Service: &plan.Service{Name: "line", Env: []string{"WHERE={dir}"},
			Argv:  weirDaemon("need={dir}/etc/conf", "env=WHERE", "env=TMPDIR", "say=so far", "say=up and running", "fork", "hang"),
			Ready: plan.Ready{Line: "up and"}}},
		{In: "a", Service: &plan.Service{Name: "file", Argv: weirDaemon("touch={dir}/here", "hang"), Ready: plan.Ready{File: "{dir}/here"}}},
		{In: "a", Service: &plan.Service{Name: "command", Argv: weirDaemon("touch={dir}/there", "touch=in-its-directory", "hang"),
			Ready: plan.Ready{Argv: weirDaemon("need={dir}/there")}, Makes: []string{"lo"}}},
		{In: "a", Exec: &plan.Exec{Argv: weirDaemon("need={dir}/there", "need={dir}/in-its-directory", "say=1.2.3 of it", "say=more"), Found: "version"}},
		{In: "a", Exec: &plan.Exec{Env: []string{"V=on stderr"}, Argv: weirDaemon("env=V"), Found: "bird"}},
		{In: "b", Service: &plan.Service{Name: "file", Argv: weirDaemon("touch={dir}/other", "hang"), Ready: plan.Ready{File: "{dir}/other"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if got := s.Found; got["version"] != "1.2.3 of it" || got["bird"] != "on stderr" {
		t.Errorf("found %q", got)
	}
	for name, want := range map[string]string{"a-line.log": "/run/weir\n/run/weir\nso far\nup and running\n", "a-file.log": "", "b-file.log": ""} {
		if got, err := os.ReadFile(filepath.Join(logs, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	// A host's programs see its files and no other host's.
	for node, names := range map[string][2]string{"a": {"here", "other"}, "b": {"other", "here"}} {
		if _, err := fs.Stat(s.Nodes[node].FS(), "run/weir/"+names[0]); err != nil {
			t.Errorf("%s: %v", node, err)
		}
		if _, err := fs.Stat(s.Nodes[node].FS(), "run/weir/"+names[1]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s has %s: %v", node, names[1], err)
		}
		var out bytes.Buffer
		err := s.Nodes[node].Run(t.Context(), target.Cmd{Argv: weirDaemon("need=/run/weir/" + names[0]), Stderr: &out})
		if err != nil {
			t.Errorf("%s: %v: %s", node, err, &out)
		}
	}
	info, err := fs.Stat(s.Nodes["a"].FS(), "run/weir/etc/conf")
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	b, err := fs.ReadFile(s.Nodes["a"].FS(), "run/weir/etc/conf")
	if err != nil || string(b) != "in /run/weir\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// Without a log directory, logs are in the place's state directory.
func TestServiceLogsInPlace(t *testing.T) {
	s := open(t, "a")
	step := plan.Step{In: "a", Service: &plan.Service{Name: "d", Argv: weirDaemon("say=hello", "hang"), Ready: plan.Ready{Line: "hello"}}}
	if err := s.Apply(t.Context(), []plan.Step{step}); err != nil {
		t.Fatal(err)
	}
	if b, err := fs.ReadFile(s.Nodes["a"].FS(), "run/weir/d.log"); err != nil || string(b) != "hello\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// A daemon appends to the log of an earlier run, whose lines do not make it ready.
func TestServiceLogGoesOn(t *testing.T) {
	t.Parallel()
	s, logs := openLogs(t, "a")
	log := filepath.Join(logs, "a-d.log")
	if err := os.WriteFile(log, []byte("up\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	step := plan.Step{In: "a", Service: &plan.Service{Name: "d", Argv: weirDaemon("say=wait", "hang"), Ready: plan.Ready{Line: "up", Timeout: 1}}}
	err := s.Apply(t.Context(), []plan.Step{step})
	if want := `its log does not contain "up": wait`; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	if b, err := os.ReadFile(log); err != nil || string(b) != "up\nwait\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// A daemon's error quotes the end of its log.
func TestServiceFails(t *testing.T) {
	for _, c := range []struct {
		name string
		step plan.Step
		want string
	}{
		{"ends", plan.Step{Service: &plan.Service{Name: "d", Argv: weirDaemon("say=1", "say=2", "say=3", "say=4", "say=5", "say=6", "exit"), Ready: plan.Ready{Line: "up"}}},
			"step 1 of 1, in a: a service of the network has ended: d in a: exit status 3: 2; 3; 4; 5; 6"},
		{"ends well", plan.Step{Service: &plan.Service{Name: "d", Argv: weirDaemon(), Ready: plan.Ready{Line: "up"}}}, "d in a: exit status 0"},
		{"is never ready", plan.Step{Service: &plan.Service{Name: "d", Argv: weirDaemon("say=wait", "hang"), Ready: plan.Ready{Line: "up", Timeout: 1}}},
			`service d: not ready within 1s: its log does not contain "up": wait`},
		{"has no file", plan.Step{Service: &plan.Service{Name: "d", Argv: weirDaemon("hang"), Ready: plan.Ready{File: "{dir}/none", Timeout: 1}}},
			"service d: not ready within 1s: stat /run/weir/none: no such file or directory"},
		{"answers badly", plan.Step{Service: &plan.Service{Name: "d", Argv: weirDaemon("hang"), Ready: plan.Ready{Argv: weirDaemon("need=/none"), Timeout: 1}}},
			"service d: not ready within 1s: weir daemon need=/none: exit status 1: stat /none: no such file or directory"},
		{"hangs when asked", plan.Step{Service: &plan.Service{Name: "d", Argv: weirDaemon("hang"), Ready: plan.Ready{Argv: weirDaemon("hang"), Timeout: 1}}},
			"service d: not ready within 1s"},
		{"says nothing of being ready", plan.Step{Service: &plan.Service{Name: "d", Argv: weirDaemon("hang"), Ready: plan.Ready{Timeout: 1}}},
			"the plan has no readiness check for it"},
		{"is not there", plan.Step{Service: &plan.Service{Name: "d", Argv: []string{"no-such-program"}}}, `service d: exec: "no-such-program": executable file not found`},
		{"needs what no kernel has", plan.Step{Service: &plan.Service{Name: "d", Argv: weirDaemon(), Kernel: []string{"dummy", "nonsense"}}},
			"service d: needs "},
		{"opens what is not there", plan.Step{Service: &plan.Service{Name: "d", Argv: weirDaemon(), Opens: []string{"/dev/null", "/dev/nonsense"}}},
			"service d: open /dev/nonsense: no such file or directory: load its module as root (modprobe nonsense)"},
		{"makes nothing", plan.Step{Service: &plan.Service{Name: "d", Argv: weirDaemon("say=up", "hang"), Ready: plan.Ready{Line: "up"}, Makes: []string{"lo", "br9"}}},
			"d did not create device br9"},
		{"a command fails", plan.Step{Exec: &plan.Exec{Argv: weirDaemon("need=/none")}}, "in a: weir daemon need=/none: exit status 1: stat /none: no such file"},
		{"a command does not end", plan.Step{Exec: &plan.Exec{Argv: weirDaemon("hang"), Timeout: 1}}, "in a: weir daemon hang: still running after 1s"},
		{"a command makes nothing", plan.Step{Exec: &plan.Exec{Argv: weirDaemon(), Makes: []string{"br9"}}}, "weir did not create device br9"},
		{"a command makes nothing elsewhere", plan.Step{Exec: &plan.Exec{Argv: weirDaemon(), Makes: []string{"a/lo", "b/eth0"}}}, `unknown place "b"`},
		{"a file elsewhere", plan.Step{File: &plan.File{Name: "../passwd"}}, `file "../passwd" is outside the state directory`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // some tests wait 1 s
			s, _ := openLogs(t, "a")
			c.step.In = "a"
			err := s.Apply(t.Context(), []plan.Step{c.step})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// Verify and a failing step report a service that dies later.
func TestServiceDies(t *testing.T) {
	s, _ := openLogs(t, "a")
	if err := s.Apply(t.Context(), []plan.Step{{In: "a", Service: &plan.Service{Name: "d",
		Argv: weirDaemon("say=my last words", "hang"), Ready: plan.Ready{Line: "last"}}}}); err != nil {
		t.Fatal(err)
	}
	kill := func() error {
		procs, err := fs.Glob(s.Nodes["a"].FS(), "proc/[0-9]*/cmdline")
		for _, p := range procs {
			if b, _ := fs.ReadFile(s.Nodes["a"].FS(), p); bytes.Contains(b, []byte("last words")) {
				pid := strings.Split(p, "/")[1]
				return s.Nodes["a"].Run(t.Context(), target.Cmd{Argv: weirDaemon("kill=" + pid)})
			}
		}
		return errors.Join(err, errors.New("no such process"))
	}
	if err := kill(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for s.Verify(t.Context(), nil) == nil {
		if time.Now().After(deadline) {
			t.Fatal("nobody noticed")
		}
		time.Sleep(time.Millisecond)
	}
	err := s.Verify(t.Context(), nil)
	if !errors.Is(err, target.ErrService) || !strings.Contains(err.Error(), "d in a: signal: killed: my last words") {
		t.Errorf("error %v", err)
	}
	err = s.Apply(t.Context(), []plan.Step{{In: "a", Exec: &plan.Exec{Argv: weirDaemon("exit")}}})
	if err == nil || !errors.Is(err, target.ErrService) || !strings.Contains(err.Error(), "exit status 3; last log lines of d: my last words") {
		t.Errorf("error %v", err)
	}
}

// Waiting for a service can be canceled.
func TestServiceCanceled(t *testing.T) {
	s, _ := openLogs(t, "a")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	err := s.Apply(ctx, []plan.Step{{In: "a", Service: &plan.Service{Name: "d", Argv: weirDaemon("hang"), Ready: plan.Ready{Line: "up"}}}})
	if !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
}

// A moved device is gone from its old place and up in the new one.
func TestMove(t *testing.T) {
	s := open(t, "a", "b")
	steps := []plan.Step{
		{In: "a", Link: &plan.Link{Name: "br7", Kind: "veth", MTU: 1500, Peer: "x", PeerIn: "a"}},
		{In: "a", Move: &plan.Move{Dev: "br7", To: "b", As: "eth0", MTU: 1400}},
	}
	if err := s.Apply(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(t.Context(), []plan.State{{In: "b", Dev: "eth0", MTU: 1400}}); err != nil {
		t.Error(err)
	}
	if err := s.Verify(t.Context(), []plan.State{{In: "a", Dev: "br7", MTU: 1400}}); err == nil {
		t.Error("it is still where it was")
	}
	for want, m := range map[string]*plan.Move{
		`unknown place "c"`:                   {Dev: "x", To: "c", As: "y"},
		"move none to b as y: no such device": {Dev: "none", To: "b", As: "y"},
	} {
		if err := s.Apply(t.Context(), []plan.Step{{In: "a", Move: m}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A log is an ordinary file with no other name, or the service does not start: root must not write to what another user
// has put in its place.
func TestPlantedLogs(t *testing.T) {
	s, logs := openLogs(t, "a")
	victim, log := filepath.Join(t.TempDir(), "victim"), filepath.Join(logs, "a-d.log")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func() error{
		"symbolic link": func() error { return os.Symlink(victim, log) },
		"hard link":     func() error { return os.Link(victim, log) },
		"pipe":          func() error { return syscall.Mkfifo(log, 0o600) },
	} {
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		step := plan.Step{In: "a", Service: &plan.Service{Name: "d", Argv: weirDaemon("say=wrong", "hang"), Ready: plan.Ready{Line: "wrong", Timeout: 1}}}
		if err := s.Apply(t.Context(), []plan.Step{step}); err == nil || !strings.Contains(err.Error(), "log of service d: ") {
			t.Errorf("%s: error %v", name, err)
		}
		if b, err := os.ReadFile(victim); err != nil || len(b) > 0 {
			t.Errorf("%s: wrote %q, %v", name, b, err)
		}
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
	}
}
