package kube

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/target/kube/fakekube"
	"github.com/weir-bench/weir/internal/topo"
)

// The request to delete the namespace must not wait for pods, which can outlast the caller's patience.
func TestNamespaceGoesFirst(t *testing.T) {
	k, c := cluster(t)
	k.Namespace = ""
	open(t, k, wants(t, 2, topo.PodNet)[0])
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	calls := c.State(t).Calls
	at := func(part string) int {
		return slices.IndexFunc(calls, func(call string) bool { return strings.Contains(call, part) })
	}
	if space, pods := at("delete namespace weir-"), at("delete jobs,services"); space < 0 || pods < space {
		t.Errorf("calls %q", calls)
	}
}

// A namespace that was made, but not confirmed, is removed; the next try uses it.
func TestLostAnswer(t *testing.T) {
	const said = "Unable to connect to the server: net/http: request canceled"
	for _, again := range []bool{false, true} {
		k, c := cluster(t)
		k.Namespace = ""
		if err := k.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Set(t, func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "create", Said: said, Times: 1}}
			s.Namespaces["weir-"+k.run] = map[string]string{}
		})
		want := wants(t, 2, topo.PodNet)[0]
		if _, err := k.Open(t.Context(), want, ""); err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("error %v", err)
		}
		if again {
			open(t, k, want)
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		if s := c.State(t); len(s.Namespaces) != 1 {
			t.Errorf("left: %v", s.Namespaces)
		}
	}
}

// A try that made some of the Services must not make the next one fail.
func TestServicesMadeBefore(t *testing.T) {
	k, c := cluster(t)
	if err := k.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := wants(t, 2, topo.Service)[0]
	open(t, k, want)
	for _, s := range k.seats {
		s.services = nil // as if the answer had been lost
	}
	open(t, k, want)
	for _, s := range k.seats {
		if !s.host && len(s.services) == 0 {
			t.Errorf("%s has no Service", s)
		}
	}
	if made := c.State(t).Objects; len(made) == 0 {
		t.Error("the cluster has no objects")
	}
}

// Pods that start while the API server does not answer are found later.
func TestPodsUnanswered(t *testing.T) {
	k, c := cluster(t)
	if err := k.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Set(t, func(s *fakekube.State) {
		s.Fail = []fakekube.Failure{{Call: "get pods", Said: "The connection to the server x was refused", Times: 2}}
	})
	open(t, k, wants(t, 2, topo.PodNet)[0])
	for _, f := range c.State(t).Fail {
		if f.Times != -1 {
			t.Errorf("%d failures left: nothing was tested", f.Times)
		}
	}
}

// weir never deletes a namespace that it did not make, whatever its name.
func TestNamespaceOfOthers(t *testing.T) {
	k, c := cluster(t)
	k.Namespace = ""
	if err := k.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Set(t, func(s *fakekube.State) { s.Namespaces["weir-"+k.run] = map[string]string{} })
	if _, err := k.Open(t.Context(), wants(t, 2, topo.PodNet)[0], ""); err == nil || !strings.Contains(err.Error(), "(AlreadyExists)") {
		t.Errorf("error %v", err)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	if s := c.State(t); len(s.Namespaces) != 2 {
		t.Errorf("left: %v", s.Namespaces)
	}
}

// A run stays in the cluster where it began when the user chooses another context.
func TestCurrentContext(t *testing.T) {
	k, c := cluster(t)
	k.Context = ""
	if err := k.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Set(t, func(s *fakekube.State) { s.Contexts, s.Calls = []string{"other", "test"}, nil })
	open(t, k, wants(t, 2, topo.PodNet)[0])
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	for _, call := range c.State(t).Calls {
		if !strings.HasPrefix(call, "--context=test ") {
			t.Errorf("kubectl %s", call)
		}
	}
}

// One call that the cluster does not answer must not cost the networks of hosts for the whole run.
func TestAdmissionUnanswered(t *testing.T) {
	k, c := cluster(t)
	hosts := wants(t, 2, topo.Hosts)[0]
	if err := k.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Set(t, func(s *fakekube.State) {
		s.Fail = []fakekube.Failure{{Call: "--dry-run", Said: "The connection to the server x was refused", Times: 1}}
	})
	if _, err := k.Open(t.Context(), hosts, ""); err == nil {
		t.Error("opened")
	}
	open(t, k, hosts)
}

// A run that makes a namespace removes those that killed runs have left empty, and no others.
func TestSweep(t *testing.T) {
	k, c := cluster(t)
	k.Namespace = ""
	old, now := "2020-01-02T03:04:05Z", time.Now().UTC().Format(time.RFC3339)
	ours := func(run string) map[string]string {
		return map[string]string{labelManager: "weir", labelRun: run}
	}
	c.Set(t, func(s *fakekube.State) {
		s.Made = map[string]string{}
		for name, labels := range map[string]map[string]string{"weir-empty": ours("empty"), "weir-new": ours("new"), "weir-full": ours("full"), "mine": ours("x"), "weir-other": {labelRun: "other"}, "weir-undated": ours("undated")} {
			s.Namespaces[name], s.Made[name] = labels, old
		}
		s.Made["weir-new"], s.Made["weir-undated"] = now, ""
		s.Objects["Job/x"] = fakekube.Object{"kind": "Job", "metadata": map[string]any{"name": "x", "namespace": "weir-full"}}
	})
	said := hears(k)
	open(t, k, wants(t, 1, topo.PodNet)[0])
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(c.State(t).Namespaces)), []string{"default", "mine", "weir-full", "weir-new", "weir-other", "weir-undated"}; !slices.Equal(got, want) {
		t.Errorf("namespaces %v, want %v", got, want)
	}
	if len(*said) != 1 || !strings.Contains((*said)[0], "weir-empty, which a killed run left empty") {
		t.Errorf("warnings %q", *said)
	}
}

func TestTyped(t *testing.T) {
	k := kubectl{"o'brien's; x", "team"}
	if got, want := k.typed("delete", "jobs"), `kubectl '--context=o'\''brien'\''s; x' --namespace=team delete jobs`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
