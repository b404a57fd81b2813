package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// A command of an event is undone once: by the coordinator, or by the agent when the connection ends.
func TestCommand(t *testing.T) {
	for name, tc := range map[string]struct {
		undo bool
		want string
	}{"undone": {true, "done undone "}, "connection lost": {false, "done undone "}} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "said")
			say := func(word string) []string { return []string{"sh", "-c", "printf '" + word + " ' >> " + file} }
			do := []plan.Step{{In: "g", Command: &plan.Command{Argv: say("done"), Undo: say("undone")}}}
			t.Run("connection", func(t *testing.T) { // its end waits for the agent's
				n, lose := connected(t)
				site := NewSite(topo.Topology{}, n)
				if err := site.Apply(t.Context(), do); err != nil {
					t.Fatal(err)
				}
				if undo, err := (plan.Plan{}).Inverse(do); err != nil {
					t.Fatal(err)
				} else if tc.undo {
					if err := site.Apply(t.Context(), undo); err != nil {
						t.Fatal(err)
					}
				}
				lose()
			})
			if said, err := os.ReadFile(file); err != nil || string(said) != tc.want {
				t.Errorf("%q, %v, want %q", said, err, tc.want)
			}
		})
	}
}

// A command that fails, takes too long or does not exist is named with the end of what it printed.
func TestCommandFails(t *testing.T) {
	n, _ := connected(t)
	site := NewSite(topo.Topology{}, n)
	for want, c := range map[string]plan.Command{
		"exit status 3: no such cable": {Argv: []string{"sh", "-c", "echo no such cable >&2; exit 3"}},
		"within 1s (timeout)":          {Argv: []string{"sleep", "60"}, Timeout: 1},
		"not found":                    {Argv: []string{"weir-has-no-such-program"}},
		"names no program":             {},
	} {
		if err := site.Apply(t.Context(), []plan.Step{{In: "g", Command: &c}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
