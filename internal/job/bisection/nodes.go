package bisection

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/bisect"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/several"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/kube"
)

// nodesOfGroup is how many nodes of a group are measured: a path has two ends.
const nodesOfGroup = 2

// NodeGroups returns the nodes of a study's cluster that have one of two labels: the first nodes of each, in different
// zones if possible.
func NodeGroups(ctx context.Context, k study.Kube, labels [2]string, pairs int) (*bisect.Nodes, error) {
	all := &bisect.Nodes{Pairs: pairs}
	of := map[string]string{}
	for i, label := range labels {
		names, err := (&kube.Target{Kube: k}).Labeled(ctx, label)
		if err != nil {
			return nil, failure.Environment.Of(err)
		}
		if len(names) < nodesOfGroup {
			return nil, failure.Usage.Errorf("%d of at least %d nodes that can run pods have the label %s (%s): label more, or choose another label", len(names), nodesOfGroup, label, cmp.Or(strings.Join(names, ", "), "none"))
		}
		all.Groups[i] = bisect.Group{Label: label, Names: names[:nodesOfGroup]}
		for _, name := range all.Groups[i].Names {
			if of[name] != "" {
				return nil, failure.Usage.Errorf("node %s has both labels, %s and %s: the groups must differ", name, of[name], label)
			}
			of[name] = label
		}
	}
	return all, nil
}

// askedNodes stores which nodes to search between.
func askedNodes(out *bisect.Outcome) {
	good, bad := out.Nodes.Groups[0], out.Nodes.Groups[1]
	out.Build, out.Good, out.Bad = []string{}, good.Label, bad.Label
	out.Commits = []bisect.Commit{{Hash: bad.Label, Subject: strings.Join(bad.Names, ", ")}}
}

// onNodes completes a run on the nodes of a group.
func (b *bisection) onNodes(ctx context.Context, dir string, g bisect.Group) (*account.Account, error) {
	s, k := b.Study, *b.Study.Target.Kube
	k.Nodes = g.Names
	s.Target.Kube = &k
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return nil, failure.Environment.Of(err)
	}
	if err := b.measure(ctx, dir, s); err != nil {
		return nil, err
	}
	return job.Load(dir, false)
}

// Page is the page of a search in a directory. For groups of nodes, it also says how their nodes differ.
func Page(dir string, o *bisect.Outcome) *doc.Document {
	page := several.Bisection(o)
	if o.Nodes == nil || len(o.Steps) == 0 {
		return page
	}
	var conditions [2]map[string][]byte
	for i, g := range o.Nodes.Groups {
		a, err := job.Load(filepath.Join(dir, o.Steps[0].Dir, o.RunDir(1, g.Label)), false)
		if err != nil {
			return page // a directory that somebody has removed since
		}
		conditions[i] = numbered(a.Conditions(), g.Names)
	}
	several.Nodes(page, o, conditions)
	page.Identify()
	return page
}

// numbered renames the nodes of a run and their pods by the order of the nodes, also in the settings of its paths, so
// that those of two groups can be compared.
func numbered(conditions map[string][]byte, nodes []string) map[string][]byte {
	out := map[string][]byte{}
	for name, of := range conditions {
		out[byOrder(name, nodes)] = of
	}
	var paths, renamed map[string]json.RawMessage
	if json.Unmarshal(conditions[facts.Paths], &paths) != nil {
		return out // then it is not compared
	}
	renamed = map[string]json.RawMessage{}
	for name, of := range paths {
		renamed[byOrder(name, nodes)] = of
	}
	out[facts.Paths], _ = json.Marshal(renamed) // which was JSON
	return out
}

// byOrder replaces the words of a name that are a node, or one of its pods, NODE-p1.
func byOrder(name string, nodes []string) string {
	words := strings.Split(name, " ")
	for i, w := range words {
		node, pod := w, ""
		if at := strings.LastIndex(w, "-p"); at > 0 && !slices.Contains(nodes, w) {
			node, pod = w[:at], w[at:]
		}
		if n := slices.Index(nodes, node); n >= 0 {
			words[i] = fmt.Sprint("node-", n+1, pod)
		}
	}
	return strings.Join(words, " ")
}
