package lab

import (
	"os"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/target"
)

func steady() *plan.Service {
	return &plan.Service{Name: "d", Argv: weirDaemon("say=up", "hang"), Ready: plan.Ready{Line: "up"}}
}

// A pod gets a process's network, even through a node obtained earlier.
func TestAdopt(t *testing.T) {
	s, _ := openLogs(t, "h", "p")
	pod := s.Nodes["p"]
	// Process 1 of h shares h's network, so no other process is needed.
	err := s.Apply(t.Context(), []plan.Step{
		{In: "h", Link: &plan.Link{Name: "mark", Kind: "bridge", MTU: 1400}},
		{In: "h", Adopt: &plan.Adopt{Pod: "p", PID: weirDaemon("say=1"), Makes: []string{"mark"}}},
		{In: "p", Set: &plan.Set{Dev: "mark", MTU: 1300}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{"h", "p"} {
		if err := s.Verify(t.Context(), []plan.State{{In: in, Dev: "mark", MTU: 1300}}); err != nil {
			t.Error(err)
		}
	}
	if err := pod.Run(t.Context(), target.Cmd{Argv: weirDaemon("need=/proc/sys/net/ipv4/conf/mark")}); err != nil {
		t.Error(err)
	}
}

func TestAdoptFails(t *testing.T) {
	nstest.Need(t)
	for _, c := range []struct {
		adopt plan.Adopt
		want  string
	}{
		{plan.Adopt{Pod: "none", PID: weirDaemon("say=1")}, `unknown place "none"`},
		{plan.Adopt{Pod: "p", PID: weirDaemon("exit")}, "exit status 3"},
		{plan.Adopt{Pod: "p", PID: weirDaemon("say=0")}, `weir printed "0\n", want a process ID; last log lines of d: up`},
		{plan.Adopt{Pod: "p", PID: weirDaemon("say=x")}, "want a process ID"},
		{plan.Adopt{Pod: "p", PID: weirDaemon("say=999999")}, "network of process 999999: open /proc/999999/ns/net: no such file"},
		{plan.Adopt{Pod: "p", PID: weirDaemon("say=1"), Makes: []string{"eth9"}}, "weir did not create device eth9"},
		{plan.Adopt{Pod: "h", PID: weirDaemon("say=1")}, "h runs daemons, which would stay in its old namespace"},
	} {
		s, _ := openLogs(t, "h", "p")
		err := s.Apply(t.Context(), []plan.Step{{In: "h", Service: steady()}, {In: "h", Adopt: &c.adopt}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.adopt, err, c.want)
		}
	}
}

// Output of a command replaces its placeholder in later ones, but not similar text.
func TestKeep(t *testing.T) {
	s, _ := openLogs(t, "a", "b")
	err := s.Apply(t.Context(), []plan.Step{
		{In: "a", Exec: &plan.Exec{Argv: weirDaemon("say=secret", "say=more"), Keep: "token"}},
		{In: "b", Exec: &plan.Exec{Argv: weirDaemon("say={token} {{.Token}}"), Found: "found"}},
	})
	if got := s.Found["found"]; err != nil || got != "secret {{.Token}}" {
		t.Errorf("%q, %v", got, err)
	}
}

// Only its own place sees writes to a private directory, above the previous content.
func TestPrivate(t *testing.T) {
	s, _ := openLogs(t, "a", "b")
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/before", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} { // the second service reuses the first one's layer
		err := s.Apply(t.Context(), []plan.Step{{In: "a", Service: &plan.Service{Name: name, Private: []string{dir},
			Argv: weirDaemon("need="+dir+"/before", "touch="+dir+"/"+name, "hang"), Ready: plan.Ready{File: dir + "/" + name}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	err := s.Apply(t.Context(), []plan.Step{
		{In: "a", Exec: &plan.Exec{Argv: weirDaemon("need="+dir+"/one", "need="+dir+"/two")}},
		{In: "b", Exec: &plan.Exec{Argv: weirDaemon("need="+dir+"/before", "touch="+dir+"/three"), Private: []string{dir}}},
	})
	if err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestRemedy(t *testing.T) {
	s, _ := openLogs(t, "a")
	err := s.Apply(t.Context(), []plan.Step{{In: "a", Exec: &plan.Exec{Argv: weirDaemon("exit"), Remedy: "try harder"}}})
	if err == nil || !strings.HasSuffix(err.Error(), "exit status 3: try harder") {
		t.Errorf("error %v", err)
	}
}

// A daemon that needs root is refused to other users with a reason.
func TestServiceNeedsRoot(t *testing.T) {
	s, _ := openLogs(t, "a")
	d := steady()
	d.Root = true
	err := s.Apply(t.Context(), []plan.Step{{In: "a", Service: d}})
	if !rootless.Unprivileged() {
		if err != nil {
			t.Error(err)
		}
	} else if err == nil || !strings.Contains(err.Error(), "service d: needs root") {
		t.Errorf("error %v", err)
	}
}
