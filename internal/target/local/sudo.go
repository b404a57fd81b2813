package local

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/weir-bench/weir/internal/facts"
)

// AsRoot replaces this process by a command of this program that runs as root, after its first attempt failed with err.
// It works where the user can become root without a question (sudo -n), and returns only if it fails. The file of an
// agent's program is gone (remote.Serve), but this process's parent, the agent, still runs it.
//
// An agent that is not root cannot end such a command by a signal: it must end with its standard input.
func AsRoot(err error, command ...string) error {
	if os.Geteuid() == 0 {
		return err
	}
	sudo := facts.Find("sudo")
	if sudo == "" {
		return fmt.Errorf("%w; and sudo is not installed there", err)
	}
	fmt.Fprintln(os.Stderr, err) // why sudo is asked; only a failed command's words are read
	argv := append([]string{"sudo", "-n", "env", "/proc/" + strconv.Itoa(os.Getppid()) + "/exe"}, command...)
	return fmt.Errorf("%w; sudo: %w", err, syscall.Exec(sudo, argv, os.Environ()))
}
