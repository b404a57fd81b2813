package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
)

// A command of the study runs only where its user allows it, in its place; its log keeps what it prints, an error quotes the end
// of that, and it ends with its time or with the run.
func TestCommand(t *testing.T) {
	nstest.Need(t)
	logs := t.TempDir()
	s, err := Target{Commands: true}.open(t.Context(), []string{"h1", "h2"}, logs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	do := func(ctx context.Context, timeout int, args ...string) error {
		return s.Apply(ctx, []plan.Step{{In: "h2", Command: &plan.Command{Argv: weirDaemon(args...), Timeout: timeout}}})
	}
	if err := do(t.Context(), 0, "say=first words", "touch={dir}/here"); err != nil {
		t.Fatal(err)
	}
	if err := do(t.Context(), 0, "say=last words", "exit"); err == nil || !strings.HasSuffix(err.Error(), "exit status 3: last words") || strings.Contains(err.Error(), "first words") {
		t.Errorf("a command that fails: %v", err)
	}
	if err := do(t.Context(), 1, "hang"); err == nil || !strings.Contains(err.Error(), "still running after 1s") {
		t.Errorf("a command that takes too long: %v", err)
	}
	over := errors.New("the run is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(over) })
	if err := do(ctx, 20, "hang"); !errors.Is(err, over) {
		t.Errorf("a command of a run that was canceled: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(logs, "h2-command.log"))
	if err != nil || strings.Count(string(b), "weir") < 4 || !strings.Contains(string(b), "first words\n") || !strings.Contains(string(b), "last words\n") {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := s.Nodes["h2"].FS().Open("run/weir/here"); err != nil {
		t.Errorf("it ran elsewhere: %v", err)
	}
}

func TestCommandIsNotAllowed(t *testing.T) {
	s := open(t, "a")
	mark := filepath.Join(t.TempDir(), "mark")
	err := s.Apply(t.Context(), []plan.Step{{In: "a", Command: &plan.Command{Argv: weirDaemon("touch=" + mark)}}})
	if err == nil || !strings.Contains(err.Error(), "--allow-commands") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it ran")
	}
}
