package failure

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

// The outermost kind decides the status, and an error keeps what it wraps.
func TestStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{Usage.Of(nil), 0},
		{Usage.Errorf("no %s: %w", "x", fs.ErrNotExist), 2},
		{fmt.Errorf("around: %w", Environment.Of(Usage.Of(errors.New("x")))), 3},
		{errors.Join(Interrupted.Of(errors.New("x")), errors.New("y")), 4},
		{Ended(0), 0},
		{Ended(99), 99},
	} {
		if got := Status(c.err); got != c.want {
			t.Errorf("%v: status %d, want %d", c.err, got, c.want)
		}
	}
	if err := Usage.Errorf("no %s: %w", "x", fs.ErrNotExist); !errors.Is(err, fs.ErrNotExist) || err.Error() != "no x: file does not exist" {
		t.Error(err)
	}
	if err := Ended(3); err.Error() != "" {
		t.Errorf("says %q, which the program has printed", err)
	}
}
