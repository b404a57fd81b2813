package nstest

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Hosts starts machines with real SSH servers that last until the test ends (see scripts/hosts), and
// puts an ssh that knows their names first on PATH. Names are separated by commas. It returns the
// directory with that ssh's configuration file, config, to which tests can add.
func Hosts(t testing.TB, names string, options ...string) (dir string) {
	t.Helper()
	Need(t)
	root := ".."
	for ; ; root = filepath.Join("..", root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
	}
	dir, err := os.MkdirTemp("/var/tmp", "weir-hosts.") // the machines have their own /tmp
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	args := append(options, "--here", dir, names, "sh", "-c", "echo ready; exec cat")
	cmd := exec.Command(filepath.Join(root, "scripts", "hosts"), args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	stdin, err := cmd.StdinPipe()
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
	line, _ := bufio.NewReader(stdout).ReadString('\n') // "" when the script has failed
	if line != "ready\n" {
		stdin.Close() // else the script waits for its end
		err := cmd.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 3 {
			t.Skip(strings.TrimSpace(said.String()))
		}
		t.Fatalf("%v\n%s", err, &said)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("scripts/hosts: %v\n%s", err, &said)
		}
	})
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	return dir
}
