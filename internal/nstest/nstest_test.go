package nstest

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/netns"
)

// what selects what TestLeak leaves behind in the process that TestLeaks starts.
const what = "NSTEST_LEAK"

func TestMain(m *testing.M) {
	Main(m, func([]string) int {
		os.Stdout.WriteString("here\n")
		select {} // until the namespace ends
	})
}

// kept holds what TestLeak opens, out of the garbage collector's reach.
var kept []any

func TestLeak(t *testing.T) {
	keep := func(v any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, v)
	}
	switch os.Getenv(what) {
	case "", "nothing": // only useful within TestLeaks
	case "failure":
		keep(net.Listen("tcp", "127.0.0.1:0"))
		t.Error("as it should")
	case "namespace":
		keep(newNamespace())
	case "socket":
		keep(net.Listen("tcp", "127.0.0.1:0"))
	case "file":
		keep(os.Open("/proc/self/status"))
	case "pipe":
		r, w, err := os.Pipe()
		keep(r, err)
		keep(w, err)
	case "process":
		cmd := exec.Command("/proc/self/exe")
		cmd.Args[0] = "weir"
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		keep(cmd, err)
		if _, err := out.Read(make([]byte, 5)); err != nil {
			t.Error(err)
		}
		out.Close()
	}
}

// A test binary that leaves something behind fails even when its tests pass.
func TestLeaks(t *testing.T) {
	Need(t)
	for _, c := range []struct {
		what   string
		status int
		want   string
	}{
		{"nothing", 0, ""},
		{"failure", 1, "as it should"}, // a test failure matters more than a leak
		{"namespace", exitLeak, "the tests left behind: descriptor of net:["},
		{"socket", exitLeak, "the tests left behind: descriptor of socket:["},
		{"file", exitLeak, "the tests left behind: descriptor of /proc/"},
		{"pipe", exitLeak, "the tests left behind: descriptor of pipe:["},
		{"process", exitLeak, "process exe"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestLeak$")
			cmd.Env = append(os.Environ(), what+"="+c.what)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			status := 0
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				status = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if status != c.status || !strings.Contains(out.String(), c.want) {
				t.Errorf("status %d, want %d and %q:\n%s", status, c.status, c.want, &out)
			}
		})
	}
}

func newNamespace() (ns *netns.Namespace, err error) {
	err = netns.Create(1, func(_ int, made *netns.Namespace) error {
		ns = made
		return nil
	})
	return ns, err
}
