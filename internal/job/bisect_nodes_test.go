package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/bisect"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

func nodeSearch(t *testing.T, factor float64) *bisection {
	t.Helper()
	s := study.Default()
	s.Networks, s.Probes, s.Target = []study.Use{{Kind: "pod"}}, []study.Use{{Kind: "tcp-rr"}}, study.Target{Kube: &study.Kube{}}
	o := BisectOptions{Study: s.Resolve(), Certainty: 0.95, Least: 0.025, Dir: filepath.Join(t.TempDir(), "search"),
		Nodes: &bisect.Nodes{Pairs: 6, Groups: [2]bisect.Group{{Label: "pool/x=old", Names: []string{"n1", "n2"}}, {Label: "pool/x=new", Names: []string{"n3", "n4"}}}}}
	o.Tell = quiet{}
	runs := 0
	b := &bisection{BisectOptions: o, nodes: func(_ context.Context, _ string, g bisect.Group) (*account.Account, error) {
		runs++
		value := 1000 * (1 + 0.002*float64(runs%5))
		if g.Label == "pool/x=new" {
			value *= factor
		}
		c := account.Contents{}
		for block := range 2 {
			c.Results = append(c.Results, record.Result{Trial: fmt.Sprintf("b%03d-pod-tcp-rr", block+1), Block: block + 1, Status: record.OK,
				Config: map[string]string{"network": "pod", "probe": "tcp-rr"}, Values: []record.Value{{Name: record.Transactions, Value: value, Unit: "1/s"}}})
		}
		return account.Of(c), nil
	}}
	t.Cleanup(func() { b.lock.Close() })
	return b
}

// Nodes that are slower are told from those that are not, and the labels are names of directories.
func TestBisectNodes(t *testing.T) {
	for factor, want := range map[float64]string{0.9: bisect.Found, 1: bisect.None} {
		b := nodeSearch(t, factor)
		if err := errors.Join(b.begin(t.Context()), b.loop(t.Context())); err != nil {
			t.Fatal(err)
		}
		out := b.out
		if out.Verdict != want || want == bisect.Found && (out.Last != "pool/x=new" || out.Change.Hi > 0.95) || strings.Contains(filepath.Base(out.Steps[0].Dir), "/") {
			t.Errorf("%g: %s %s, %v, %s", factor, out.Verdict, out.Last, out.Change, out.Steps[0].Dir)
		}
		page, err := os.ReadFile(filepath.Join(b.Dir, bisectPage))
		if err != nil || !strings.Contains(string(page), "Do nodes with pool/x=new differ from those with pool/x=old") {
			t.Errorf("%g: page: %v", factor, err)
		}
		b.lock.Close()
		again := nodeSearch(t, 5) // which would not be found, as it has what it asks
		again.Dir, again.Resume, again.Nodes = "", b.Dir, nil
		if err := errors.Join(again.begin(t.Context()), again.loop(t.Context())); err != nil || len(again.out.Steps) != len(out.Steps) {
			t.Errorf("%g: resumed: %d steps, %v", factor, len(again.out.Steps), err)
		}
	}
}

// The nodes of two groups have the same names in a comparison, and so have their pods.
func TestNumberedNodes(t *testing.T) {
	got := numbered(map[string][]byte{"node1": nil, "node10": nil, "pod node10-p1": nil, "pod node1-p1": nil}, []string{"node10", "node1"})
	if names, want := slices.Sorted(maps.Keys(got)), []string{"first", "pod first-p1", "pod second-p1", "second"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}
