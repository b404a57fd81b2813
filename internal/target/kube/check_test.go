package kube

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/target/kube/fakekube"
)

func TestCheck(t *testing.T) {
	k, c := cluster(t)
	var got []string
	for _, f := range k.Check(t.Context()) {
		got = append(got, fmt.Sprintf("%s %v %s", f.Name, f.OK, f.Detail))
		if f.OK != (f.Fix == "") {
			t.Errorf("%+v: a fix belongs to what is wrong", f)
		}
	}
	want := []string{"kubectl true v1.32.0", "cluster true v1.33.13", "nodes true node1, node2", "namespace true default", "permissions true all that a run needs",
		"host network true not forbidden by the namespace's labels"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	c.Set(t, func(s *fakekube.State) {
		s.Denied = []string{"create pods/attach", "delete services"}
		s.Namespaces["default"]["pod-security.kubernetes.io/enforce"] = "baseline"
	})
	fs := k.Check(t.Context())
	last := fs[len(fs)-1]
	if last.Name != "permissions" || last.OK || last.Detail != "the cluster forbids in namespace default: create pods/attach, delete services" || !strings.Contains(last.Fix, "docs/kubernetes.md") {
		t.Errorf("%+v", last)
	}
	c.Set(t, func(s *fakekube.State) { s.Denied = nil })
	fs = k.Check(t.Context())
	if last := fs[len(fs)-1]; last.Name != "host network" || last.OK || !strings.Contains(last.Fix, "kubectl label namespace default pod-security.kubernetes.io/enforce=privileged") {
		t.Errorf("%+v", last)
	}
	if n := len(c.State(t).Objects); n > 0 {
		t.Errorf("Check made %d objects", n)
	}
}
