package rootless

import (
	"os"
	"strings"
	"testing"
)

// The limit of a user counts threads, and those of this process are known. Root has none.
func TestRoom(t *testing.T) {
	if err := Room(1); err != nil {
		t.Error(err)
	}
	if n, other := threadsOf(os.Getuid()), threadsOf(-2); n < 1 || other != 0 {
		t.Errorf("%d threads of this user, %d of no user", n, other)
	}
	if err := noRoom(-3, 9, "ulimit -u"); !strings.Contains(err.Error(), "ulimit -u leaves room for 0 further processes and threads") {
		t.Error(err)
	}
}
