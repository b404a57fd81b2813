// Package failure sorts errors by who can mend what failed, which decides weir's exit status.
//
// It must not know what failed, and prints nothing.
package failure

import (
	"errors"
	"fmt"
)

// A Kind says who can mend what failed. Its number is an exit status (CONTRIBUTING.md).
type Kind int

const (
	Check       Kind = 1 // a check failed: a trial that is not ok, a regression
	Usage       Kind = 2 // the command line or the study is wrong
	Environment Kind = 3 // this machine, or one that is measured, lacks something
	Interrupted Kind = 4 // a signal; the run can be resumed
)

// An Error is an error of a kind.
type Error struct {
	Kind Kind
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Of makes err an error of this kind, whatever kind it has had; nil stays nil.
func (k Kind) Of(err error) error {
	if err == nil {
		return nil
	}
	return &Error{k, err}
}

// Errorf returns an error of this kind, formatted as by fmt.Errorf.
func (k Kind) Errorf(format string, args ...any) error {
	return &Error{k, fmt.Errorf(format, args...)}
}

// Status returns the exit status of err: 0 without an error, and that of Check for one of no kind.
func Status(err error) int {
	var e *Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return int(e.Kind)
	}
	return int(Check)
}

// Ended returns the error of another program that ended with a status, nil if that is 0. Its text is empty: the
// program has printed it.
func Ended(status int) error {
	if status == 0 {
		return nil
	}
	return &Error{Kind(status), errors.New("")}
}
