// Package terminal runs an interactive program that does not exit by itself. It must not know which
// program that is, nor interpret its output.
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

// A Script replaces the user at the terminal.
type Script struct {
	Cols, Rows uint16
	Key        string   // typed once, after the program has drawn one of Texts
	Texts      []string // each drawn in one piece: text drawn in several is not recognized
}

// patience is how long the program can take to exit after SIGTERM.
const patience = time.Second

// Run runs argv on a new terminal, copies its output to out and returns its exit status. When ctx
// is done, Run ends the program and returns the cause.
func Run(ctx context.Context, s Script, argv []string, out io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	// Programs do not query the colors of this terminal type. On others they wait seconds for the
	// answer (muesli/termenv, termenv_unix.go).
	cmd.Env = append(os.Environ(), "TERM=screen")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: s.Cols, Rows: s.Rows})
	if err != nil {
		return 0, fmt.Errorf("start %s on a terminal: %w", argv[0], err)
	}
	defer tty.Close()
	drawn := make(chan error, 1)
	go func() { drawn <- s.play(tty, out) }()
	err = cmd.Wait()
	tty.SetReadDeadline(time.Now().Add(patience)) // a child of the program can keep the terminal open
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

// play copies the output and types the key. Linux ends reads with EIO once the terminal is closed.
func (s Script) play(tty io.ReadWriter, out io.Writer) error {
	longest := 0
	for _, t := range s.Texts {
		longest = max(longest, len(t))
	}
	var last []byte // the end of the output, where a text can have begun
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
