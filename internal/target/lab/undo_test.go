package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
)

// Close runs the undo commands in reverse order while services still run. It returns their errors,
// except for commands that had failed themselves.
func TestUndo(t *testing.T) {
	nstest.Need(t)
	dir := t.TempDir()
	touch := func(name string) string { return "touch=" + filepath.Join(dir, name) }
	need := func(name string) string { return "need=" + filepath.Join(dir, name) }
	s, err := Open(t.Context(), []string{"a"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	err = s.Apply(t.Context(), []plan.Step{
		{In: "a", Service: &plan.Service{Name: "d", Argv: weirDaemon("touch={dir}/d", "hang"), Ready: plan.Ready{File: "{dir}/d"}}},
		{In: "a", Exec: &plan.Exec{Argv: weirDaemon(), Undo: weirDaemon(need("second"), touch("first"))}},
		{In: "a", Exec: &plan.Exec{Argv: weirDaemon(), Env: []string{"WHERE={dir}"}, Undo: weirDaemon("need={dir}/d", touch("second"), "env=WHERE", "exit")}},
		{In: "a", Exec: &plan.Exec{Argv: weirDaemon("exit"), Undo: weirDaemon(touch("third"), "need=/it was not there")}},
	})
	if err == nil || !strings.Contains(err.Error(), "step 4 of 4") {
		t.Errorf("error %v", err)
	}
	err = s.Close()
	if err == nil || !strings.HasSuffix(err.Error(), "exit: exit status 3: /run/weir") || strings.Contains(err.Error(), "not there") {
		t.Errorf("closed with %v", err)
	}
	for _, name := range []string{"first", "second", "third"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// A version can come from stderr.
func TestFoundOnStderr(t *testing.T) {
	s := open(t, "a")
	err := s.Apply(t.Context(), []plan.Step{{In: "a", Exec: &plan.Exec{Env: []string{"V=v1.2"}, Argv: weirDaemon("env=V"), Found: "d.version"}}})
	if err != nil || s.Found["d.version"] != "v1.2" {
		t.Errorf("%v, %v", s.Found, err)
	}
}
