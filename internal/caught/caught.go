// Package caught turns panics into errors. A panic is a defect of weir, but its user should read what failed instead of
// a trace, and keep what has been measured.
//
// Call Error where a goroutine does work whose failure has a reader. It must not hide a panic: an error remains.
package caught

import (
	"fmt"
	"os"
)

// DebugVariable makes a panic end weir with the trace of the goroutine.
const DebugVariable = "WEIR_DEBUG"

type defect struct{ cause any }

func (d *defect) Error() string {
	return fmt.Sprintf("internal error: %v; this is a defect of weir: please report it with the output of the same command under %s=1", d.cause, DebugVariable)
}

// Error calls f and returns its error, or one for its panic.
func Error(f func() error) (err error) {
	if os.Getenv(DebugVariable) != "" {
		return f()
	}
	defer func() {
		if p := recover(); p != nil {
			again, ok := p.(*defect) // of another goroutine
			if !ok {
				again = &defect{p}
			}
			err = again
		}
	}()
	return f()
}
