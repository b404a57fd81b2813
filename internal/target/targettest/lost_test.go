package targettest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/agent"
)

// A torn pipe loses what the other side writes before it notices.
type torn struct {
	io.ReadCloser
	io.WriteCloser
}

func (p torn) Close() error { return errors.Join(p.ReadCloser.Close(), p.WriteCloser.Close()) }

// A dead coordinator's agent ends all programs; SIGPIPE would end only the agent.
func TestCoordinatorDies(t *testing.T) {
	nstest.Need(t)
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"weir", "agent"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n, err := agent.Dial(t.Context(), "h1", torn{out, in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pid, flood, ended := make(chan []byte, 1), make(chan bool), make(chan error)
	run := func(script string, stdout io.Writer) {
		ended <- n.Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", script}, Stdout: stdout})
	}
	go run("echo $$; exec sleep 1000", writer(func(b []byte) { pid <- bytes.Clone(bytes.TrimSpace(b)) }))
	sleeper := <-pid
	go run("echo flood; exec yes", hearing("flood", func() { close(flood) }))
	<-flood
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-ended; !errors.Is(err, target.ErrLost) {
			t.Errorf("a program ended with %v", err)
		}
	}
	_ = cmd.Wait() // the agent can fail because it could not write
	if stat, err := os.ReadFile("/proc/" + string(sleeper) + "/stat"); err == nil && !bytes.Contains(stat, []byte(") Z ")) {
		t.Errorf("a program is left: %s", stat)
	}
}
