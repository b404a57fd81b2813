package job

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/target"
)

// A run continues only on the machines on which it began.
func TestRecognize(t *testing.T) {
	began := facts.Facts{CPU: "EPYC", CPUs: 8, Machine: "x86_64", Product: "KVM", Kernel: "6.1"}
	b, err := json.Marshal(began)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		facts facts.Facts
		want  string
	}{
		{"the same", began, ""},
		{"another kernel", facts.Facts{CPU: "EPYC", CPUs: 8, Machine: "x86_64", Product: "KVM", Kernel: "6.12"}, ""},
		{"another CPU", facts.Facts{CPU: "Xeon", CPUs: 8, Machine: "x86_64", Product: "KVM"}, `a is not the machine on which the run began: its CPU was "EPYC" and is "Xeon"; resume with the same machines`},
		{"fewer CPUs", facts.Facts{CPU: "EPYC", CPUs: 4, Machine: "x86_64", Product: "KVM"}, `its number of CPUs was "8" and is "4"`},
		{"another architecture", facts.Facts{CPU: "EPYC", CPUs: 8, Machine: "aarch64", Product: "KVM"}, "architecture"},
		{"another product", facts.Facts{CPU: "EPYC", CPUs: 8, Machine: "x86_64", Product: "Laptop"}, "product"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.json"), b, 0o666); err != nil {
			t.Fatal(err)
		}
		site := &target.Site{Nodes: map[string]target.Node{}}
		for _, name := range []string{"a", "new"} {
			site.Nodes[name] = hostOnly{h: &target.Host{ID: name, Name: name, Facts: func(context.Context) (facts.Facts, error) { return c.facts, nil }}}
		}
		err := recognize(t.Context(), site, dir)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || failure.Status(err) != int(failure.Environment)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// hostOnly is a node that only names its host.
type hostOnly struct {
	target.Node
	h *target.Host
}

func (n hostOnly) Host() *target.Host { return n.h }

// A directory that goes away while its run is opened again is not the user's mistake.
func TestReopenGone(t *testing.T) {
	dir := t.TempDir() + "/run"
	d, err := store.Create(dir)
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := runner{RunOptions{Dir: dir}}
	if _, err := r.recall(d); failure.Status(err) != int(failure.Check) || !errors.Is(err, store.ErrGone) {
		t.Errorf("without its directory: %v", err)
	}
	_ = d.Close() // of a directory that is gone
}
