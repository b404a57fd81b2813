package bisection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/bisect"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// nodeSearch compares nodes whose value differs by factors, one in each direction.
func nodeSearch(t *testing.T, factors ...float64) *bisection {
	t.Helper()
	s := study.Default()
	s.Networks, s.Probes, s.Target = []study.Use{{Kind: "pod"}}, []study.Use{{Kind: "tcp-rr"}}, study.Target{Kube: &study.Kube{}}
	o := Options{Study: s.Resolve(), Certainty: 0.95, Least: 0.025, Dir: filepath.Join(t.TempDir(), "search"),
		Nodes: &bisect.Nodes{Pairs: 6, Groups: [2]bisect.Group{{Label: "pool/x=old", Names: []string{"n1", "n2"}}, {Label: "pool/x=new", Names: []string{"n3", "n4"}}}}}
	o.Tell = quiet{}
	runs := 0
	b := &bisection{Options: o, nodes: func(_ context.Context, _ string, g bisect.Group) (*account.Account, error) {
		runs++
		c := account.Contents{}
		for block := range 2 * len(factors) {
			value, way := 1000*(1+0.002*float64(runs%5)), block%len(factors)
			if g.Label == "pool/x=new" {
				value *= factors[way]
			}
			r := record.Result{Trial: fmt.Sprintf("b%03d-pod-tcp-rr", block+1), Block: block + 1, Status: record.OK,
				Config: map[string]string{"network": "pod", "probe": "tcp-rr"}, Values: []record.Value{{Name: record.Transactions, Value: value, Unit: "1/s"}}}
			if len(factors) > 1 {
				r.Observed = record.Observed{}
				r.Observed.Observe(record.Swapped.Is(way == 1))
			}
			c.Results = append(c.Results, r)
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
		page, err := os.ReadFile(filepath.Join(b.Dir, pageFile))
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

// What limits one direction is not diluted by the other.
func TestNodesByDirection(t *testing.T) {
	b := nodeSearch(t, 0.01, 1)
	if err := errors.Join(b.begin(t.Context()), b.loop(t.Context())); err != nil {
		t.Fatal(err)
	}
	step := b.out.Steps[0]
	if b.out.Verdict != bisect.Found || math.Abs(step.Ratio.Center-0.1) > 0.002 || len(step.Ways) != 2 || math.Abs(step.Ways[0].Center-0.01) > 0.0002 || math.Abs(step.Ways[1].Center-1) > 0.02 {
		t.Errorf("%s, %v, %v", b.out.Verdict, step.Ratio, step.Ways)
	}
	page, err := os.ReadFile(filepath.Join(b.Dir, pageFile))
	if err != nil || !strings.Contains(string(page), "0.010× [0.010, 0.010] with the client on the first node of each group, 0.999×") {
		t.Errorf("page: %v", err)
	}
}

// A search whose file was changed by hand is refused.
func TestDamagedSearch(t *testing.T) {
	b := nodeSearch(t, 1)
	if err := b.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.lock.Close()
	b.out.Commits = append(b.out.Commits, b.out.Commits...)
	if err := b.save(); err != nil {
		t.Fatal(err)
	}
	again := nodeSearch(t, 1)
	again.Dir, again.Resume = "", b.Dir
	if err := again.begin(t.Context()); err == nil || !strings.Contains(err.Error(), "it is damaged") {
		t.Error(err)
	}
}

// The nodes of two groups have the same names in a comparison, and so have their pods and the settings of their paths.
func TestNumberedNodes(t *testing.T) {
	got := numbered(map[string][]byte{"node1": nil, "node10": nil, "study": nil, facts.Paths: []byte(`{"pod node10-p1 eth0": {"qdisc": "tbf"}, "pod node1-p1": {}, "host node1-p1x": {}}`)}, []string{"node10", "node1"})
	if names, want := slices.Sorted(maps.Keys(got)), []string{"node-1", "node-2", "paths", "study"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	if got, want := string(got[facts.Paths]), `{"host node-2-p1x":{},"pod node-1-p1 eth0":{"qdisc":"tbf"},"pod node-2-p1":{}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
