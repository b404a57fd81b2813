package main

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// onTerminal runs weir with stdout and stderr on a terminal and returns what it draws.
func onTerminal(t *testing.T, cols uint16, env []string, args ...string) string {
	t.Helper()
	needLab(t)
	cmd := weir("WEIR_TEST=terminal", args...)
	cmd.Env = append(cmd.Env, env...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: cols, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // normally it has already ended
	var drawn bytes.Buffer
	if _, err := io.Copy(&drawn, tty); err != nil && !errors.Is(err, syscall.EIO) { // Linux ends the output so
		t.Fatal(err)
	}
	tty.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, drawn.String())
	}
	return drawn.String()
}

// control is what moves the cursor or colors the text.
var control = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// On a terminal, the ratios stay at the bottom; other terminals and pipes get plain lines. Nothing is colored, with
// NO_COLOR or without.
func TestTerminals(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	for name, c := range map[string]struct {
		cols       uint16
		env        []string
		live, rows bool
	}{
		"wide":     {100, []string{"TERM=xterm"}, true, true},
		"no color": {100, []string{"TERM=xterm", "NO_COLOR=1"}, true, true},
		"narrow":   {20, []string{"TERM=xterm"}, true, false},
		"dumb":     {100, []string{"TERM=dumb"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := onTerminal(t, c.cols, c.env, "run", "-n", "host,bridge", "-p", "tcp-stream", "--blocks", "4", "--duration", "20ms", "--warmup", "0s",
				"--keep-disturbed", "-o", filepath.Join(t.TempDir(), "out"))
			before, _, ok := strings.Cut(got, "report: ")
			if live := strings.Contains(before, "░"); !ok || live != c.live {
				t.Errorf("draws: %v, want %v:\n%q", live, c.live, got)
			}
			if rows := regexp.MustCompile(`bridge  tcp-stream [0-9.]+×`).MatchString(before); rows != c.rows {
				t.Errorf("ratios: %v, want %v:\n%q", rows, c.rows, got)
			}
			if lines := strings.Contains(before, "block 4: "); !c.live && !lines {
				t.Errorf("no line per block:\n%q", got)
			}
			for _, s := range control.FindAllString(got, -1) {
				if !c.live || !strings.HasSuffix(s, "A") && s != "\x1b[J" {
					t.Errorf("%q in %q", s, got)
				}
			}
		})
	}
}
