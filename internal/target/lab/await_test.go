package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// An Await ends when its condition holds, not before.
func TestAwait(t *testing.T) {
	s, _ := openLogs(t, "a")
	steps := []plan.Step{
		{In: "a", Service: &plan.Service{Name: "d", Argv: weirDaemon("say=up", "hang"), Ready: plan.Ready{Line: "up"}}},
		{In: "a", Await: &plan.Await{Output: plan.Output{Argv: weirDaemon("need={dir}/late", "say=it is late"), Lines: []string{"late"}}}},
	}
	time.AfterFunc(50*time.Millisecond, func() {
		late := plan.Step{In: "a", Exec: &plan.Exec{Argv: weirDaemon("touch={dir}/late")}}
		_ = s.Nodes["a"].Run(context.Background(), target.Cmd{Argv: plan.Expand(map[string]string{"dir": "/run/weir"}, late.Exec.Argv...)}) // Await reports the failure
	})
	if err := s.Apply(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
	o := &plan.Output{Argv: weirDaemon("say=a line", "say=another"), Lines: []string{"another", "a line"}}
	if err := s.Verify(t.Context(), []plan.State{{In: "a", Output: o}}); err != nil {
		t.Error(err)
	}
	o.Lines = append(o.Lines, "a third")
	err := s.Verify(t.Context(), []plan.State{{In: "a", Output: o}})
	if err == nil || !strings.Contains(err.Error(), `a: weir daemon say=a line say=another: no line, or too few, with "a third" in "a line\nanother"`) {
		t.Errorf("error %v", err)
	}
}

// The error quotes the daemon logs of the same place.
func TestAwaitFails(t *testing.T) {
	up := plan.Step{In: "a", Service: &plan.Service{Name: "d", Argv: weirDaemon("say=my words", "hang"), Ready: plan.Ready{Line: "my"}}}
	for _, c := range []struct {
		name, want string
		argv       []string
	}{
		{"another line", `condition not met within 1s: a: weir daemon say=no: no line, or too few, with "yes" in "no"; last log lines of d: my words`, weirDaemon("say=no")},
		{"a failure", `exit status 3; last log lines of d`, weirDaemon("exit")},
		{"a hang", "condition not met within 1s: weir is still running; last log lines of d: my words", weirDaemon("hang")},
		{"no program", `condition not met within 1s: a: exec: "no-such-program"`, []string{"no-such-program"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // each test waits 1 s
			s, _ := openLogs(t, "a")
			err := s.Apply(t.Context(), []plan.Step{up,
				{In: "a", Await: &plan.Await{Output: plan.Output{Argv: c.argv, Lines: []string{"yes"}}, Timeout: 1}}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// Await ends when a daemon of the place ends or the context is done.
func TestAwaitEnds(t *testing.T) {
	s, logs := openLogs(t, "a")
	never := plan.Step{In: "a", Await: &plan.Await{Output: plan.Output{Argv: weirDaemon("say=no"), Lines: []string{"yes"}}, Timeout: 600}}
	gone := plan.Step{In: "a", Service: &plan.Service{Name: "d", Argv: weirDaemon("say=up", "need={dir}/none", "exit"), Ready: plan.Ready{Line: "up"}}}
	if err := s.Apply(t.Context(), []plan.Step{gone, never}); !errors.Is(err, target.ErrService) {
		t.Errorf("error %v, want %v", err, target.ErrService)
	}
	if b, err := os.ReadFile(filepath.Join(logs, "a-d.log")); err != nil || !strings.HasPrefix(string(b), "up\n") {
		t.Errorf("log %q, %v", b, err)
	}
	s, _ = openLogs(t, "a")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	if err := s.Apply(ctx, []plan.Step{never}); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
}
