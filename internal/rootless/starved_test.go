package rootless

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// What the kernel killed is told of a process that SIGKILL ended, and of no other one.
func TestStarved(t *testing.T) {
	now := Kills()
	for script, want := range map[string]bool{"kill -KILL $$": true, "kill -TERM $$": false, "exit 1": false} {
		err := exec.Command("sh", "-c", script).Run()
		said := Starved(err, now-2).Error()
		if got := strings.Contains(said, ": meanwhile the kernel killed 2 processes "); got != want || !strings.HasPrefix(said, err.Error()) {
			t.Errorf("%s: %s", script, said)
		}
		if said := Starved(err, now); said.Error() != err.Error() {
			t.Errorf("%s, and none was killed: %s", script, said)
		}
	}
	if other := errors.New("other"); Starved(other, now-1) != other || Starved(nil, now-1) != nil {
		t.Error("an error of another kind is changed")
	}
	if why := Starving(syscall.WaitStatus(syscall.SIGKILL), now-1); !strings.Contains(why, "killed 1 process ") {
		t.Error(why)
	}
}
