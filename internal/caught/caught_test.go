package caught

import (
	"errors"
	"strings"
	"testing"
)

func TestCaught(t *testing.T) {
	var none map[string]int
	err := Error(func() error { none["x"] = 1; return nil })
	if err == nil || !strings.Contains(err.Error(), "internal error: assignment to entry in nil map; this is a defect of weir") {
		t.Error(err)
	}
	if again := Error(func() error { panic(err) }); again.Error() != err.Error() {
		t.Errorf("passed on: %v, want %v", again, err)
	}
	plain := errors.New("plain")
	if err := Error(func() error { return plain }); err != plain {
		t.Error(err)
	}
	t.Setenv(DebugVariable, "1")
	defer func() {
		if recover() == nil {
			t.Errorf("%s does not let a panic through", DebugVariable)
		}
	}()
	_ = Error(func() error { panic("trace") })
}
