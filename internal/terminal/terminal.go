// Package terminal runs a program that draws on a terminal and never ends by
// itself. It must not know what program that is, or read what it draws.
package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// A Script is what the person at the terminal would do.
type Script struct {
	Cols, Rows uint16
	Key        string   // typed once, when one of Texts has been drawn
	Texts      []string // in one piece: a program that draws them in several is not understood
}

// patience is how long the program may take to end after SIGTERM.
const patience = time.Second

// Run runs argv on a terminal of its own, copies what it draws to out, and
// returns its exit status. When ctx is done, the program is ended.
func Run(ctx context.Context, s Script, argv []string, out io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	// Terminals of this kind are not asked for their colours, which programs wait
	// for for seconds (muesli/termenv, termenv_unix.go).
	cmd.Env = append(os.Environ(), "TERM=screen")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: s.Cols, Rows: s.Rows})
	if err != nil {
		return 0, fmt.Errorf("start on a terminal: %w", err)
	}
	defer tty.Close()
	drawn := make(chan error, 1)
	go func() { drawn <- s.play(tty, out) }()
	err = cmd.Wait()
	tty.SetReadDeadline(time.Now().Add(patience)) // what it started may keep the terminal open
	playErr := <-drawn
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	case err != nil:
		return 0, err
	}
	return 0, playErr
}

// play copies what is drawn and types the key. Linux ends reading with EIO when
// the last one has closed the terminal.
func (s Script) play(tty io.ReadWriter, out io.Writer) error {
	longest := 0
	for _, t := range s.Texts {
		longest = max(longest, len(t))
	}
	var last []byte // what a text may have begun in
	typed := false
	buf := make([]byte, 32<<10)
	for {
		n, err := tty.Read(buf)
		if _, err := out.Write(buf[:n]); err != nil {
			return err
		}
		last = append(last, buf[:n]...)
		if !typed && slices.ContainsFunc(s.Texts, func(t string) bool { return bytes.Contains(last, []byte(t)) }) {
			typed = true
			if _, err := tty.Write([]byte(s.Key)); err != nil {
				return err
			}
		}
		last = last[max(0, len(last)-longest):]
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, syscall.EIO), errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case err != nil:
			return err
		}
	}
}
