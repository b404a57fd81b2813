package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/study"
)

// A fault is an entry of testdata/faults.yaml, which explains the fields.
type fault struct {
	Name, About   string
	Network       study.Use
	Probe         study.Use
	Levels        map[string]string
	OneCPU        bool `yaml:"one-cpu"`
	Share         float64
	Rules         int
	Finds, Causes []string
}

const sound = "vxlan-overlay" // the network that the faults are in

func faults(t *testing.T) []fault {
	t.Helper()
	const file = "testdata/faults.yaml"
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Faults []fault }
	if err := strictyaml.Decode(src, file, &all); err != nil {
		t.Fatal(err)
	}
	for i := range all.Faults {
		f := &all.Faults[i]
		if f.Rules > 0 {
			f.Network = f.Network.And(useless(f.Rules)...)
		}
		if f.Network.Name = f.Network.Kind; len(f.Network.Options) > 0 {
			f.Network.Name = f.Name
		}
		if f.Probe.Name == "" {
			f.Probe.Name = f.Probe.Kind
		}
	}
	return all.Faults
}

// useless returns steps that give the receiver n packet-filter rules, which no packet matches
// (240.0.0.0/4, RFC 1112, section 4). An ordinary user's nft can send 250 at once.
func useless(n int) (steps []plan.Step) {
	for first := 0; first < n; first += 250 {
		var b strings.Builder
		b.WriteString("table inet f { chain c { type filter hook input priority 0;")
		for i := first; i < min(first+250, n); i++ {
			fmt.Fprintf(&b, " ip saddr 240.0.%d.%d drop;", i/256, i%256)
		}
		b.WriteString(" }; }")
		steps = append(steps, plan.Step{In: "h2p1", Exec: &plan.Exec{Argv: []string{"nft", b.String()}}})
	}
	return steps
}

// docs/faults.md lists the faults and the rules that find them.
func TestFaultsPage(t *testing.T) {
	const file = "../../docs/faults.md"
	titles := map[string]string{}
	for _, r := range finding.Rules() {
		titles[r.ID] = r.Title
	}
	var b strings.Builder
	b.WriteString("# Faults that weir finds\n\nGenerated from cmd/weir/testdata/faults.yaml by `make golden`; do not edit. `make provoke` builds each of these faults in namespaces,\n" +
		"measures it, and checks that the findings name it and nothing else.\n\n| fault | how to provoke it | finding |\n|---|---|---|\n")
	for _, f := range faults(t) {
		var finds []string
		for _, id := range f.Finds {
			title, known := titles[id]
			if !known {
				t.Errorf("%s: no rule %s", f.Name, id)
			}
			finds = append(finds, title)
		}
		for _, id := range f.Causes {
			if _, known := titles[id]; !known {
				t.Errorf("%s: no rule %s", f.Name, id)
			}
		}
		if finds == nil {
			finds = []string{"none: no effect"}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.About, strings.ReplaceAll(f.how(), "|", "\\|"), strings.Join(finds, "; "))
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != b.String() {
		t.Errorf("%s is old (%v): UPDATE=1 go test ./cmd/weir -run TestFaultsPage writes it", file, err)
	}
}

// how describes what provokes a fault, as flags of weir run.
func (f fault) how() string {
	var parts []string
	switch n := f.Network; {
	case f.Rules > 0:
		parts = append(parts, fmt.Sprintf("%d rules of nft that match nothing", f.Rules))
	case len(n.Options) > 0:
		parts = append(parts, "`"+study.AlsoKey+": "+n.Options[study.AlsoKey]+"`")
		if f.Share > 0 {
			parts[0] += fmt.Sprintf(" with $RATE at %.0f %% of what the path carries", 100*f.Share)
		}
	case n.Kind != sound:
		parts = append(parts, "the network "+n.Kind)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Probe.Options)) {
		parts = append(parts, fmt.Sprintf("`%s: %s` of the probe", key, f.Probe.Options[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(f.Levels)) {
		parts = append(parts, fmt.Sprintf("`-f %s=%s`", key, f.Levels[key]))
	}
	if f.OneCPU {
		parts = append(parts, "`taskset -c 0 weir run`")
	}
	return strings.Join(append(parts, f.Probe.Kind), ", ")
}
