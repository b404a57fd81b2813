package local

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// End waits for a process that another process must reap: here one that is stopped for a while.
func TestEndWaitsForTheReaper(t *testing.T) {
	_, tag := Command(t.Context(), []string{"sleep"}, nil)
	parent := exec.Command("sh", "-c", "env "+string(tag)+" setsid sleep 1000 >/dev/null & echo $!; wait")
	out, err := parent.StdoutPipe()
	if err == nil {
		err = parent.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 20)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	go parent.Wait()
	proc := "/proc/" + strings.TrimSpace(string(line[:n]))
	for { // until it has the tag
		if env, err := os.ReadFile(proc + "/environ"); err != nil {
			t.Fatal(err)
		} else if strings.Contains(string(env), string(tag)) {
			break
		}
	}
	if err := parent.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { parent.Process.Signal(syscall.SIGCONT) })
	tag.End(1 << 22) // no such group
	if _, err := os.Stat(proc); err == nil {
		t.Errorf("%s is left", proc)
	}
}
