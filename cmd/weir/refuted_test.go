package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
)

// The run that could refute a finding about a provoked fault lets it stand, and refutes the same finding if
// it blames something else: a setting without any effect. `make provoke` tries all faults; otherwise one
// stands for all.
func TestRefuted(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	if facts.Find("nft") == "" || facts.Find("tc") == "" {
		t.Skip("nft or tc is missing: install the packages nftables and iproute2")
	}
	// The CPU with the full backlog drops the engine's orders, too, and each takes seconds to fail.
	all := slices.DeleteFunc(faults(t), func(f fault) bool { return f.Name == "backlog" })
	if *provoke == 1 {
		all = slices.DeleteFunc(all, func(f fault) bool { return f.Name != "drop-at-input" })
	}
	capacity, fail := rates(t), judge(t)
	judged, open := 0, 0
	for _, b := range batches(all) {
		m := measure(t, b.study(capacity), b.faults[0].OneCPU)
		for _, f := range b.faults {
			if len(f.Finds) == 0 || slices.Contains(untestable, f.Finds[0]) {
				continue
			}
			found := m.testable(f)
			if found == nil {
				if found := m.diagnosis()[f.cell()]; slices.Contains(found, f.Finds[0]) || !m.finds(t, f, f.Finds[0]) {
					t.Errorf("%s: no finding with a test, only %v", f.Name, found)
				}
				continue
			}
			planted := *found.Test
			planted.Options, planted.Levels, planted.Network = nil, nil, ""
			planted.Fix = []plan.Step{{In: "h2", Sysctl: &plan.Sysctl{Key: "net.ipv4.ip_default_ttl", Value: "64"}}}
			wrong := *found
			wrong.Test = &planted
			is := m.refute(t, *found, wrong)
			if len(is) != 2 {
				t.Fatalf("%s: %d verdicts, want 2", f.Name, len(is))
			}
			t.Logf("%s, %s: %v %s; the planted finding: %v %s", f.Name, found.Rule, is[0].Ratio, is[0].Outcome, is[1].Ratio, is[1].Outcome)
			for i, want := range []explain.Outcome{explain.Stands, explain.Refuted} {
				judged++
				switch got := is[i]; {
				case got.Outcome == want:
				case got.Outcome == explain.Open && (got.Ratio.Bounded() || infinite(got)): // the time did not suffice, or TCP stopped in too many blocks
					open++
				default:
					fail("%s: %s, want %s: %s", f.Name, got.Outcome, want, got.Statement())
				}
			}
		}
	}
	if 10*open > judged {
		fail("%d of %d verdicts are open", open, judged)
	}
}

// infinite reports whether a verdict has no interval because what was found is 0 in some blocks.
func infinite(v explain.Verdict) bool {
	return slices.ContainsFunc(v.Ratio.Warnings, func(w lang.Text) bool { return strings.HasSuffix(w.String(), "are infinite") })
}

// untestable names the rules that no run can refute: nothing of a study gives weir another CPU, or more patience.
var untestable = []string{"same-cpu", "spurious-retransmissions"}

// testable returns the finding that names a fault, nil if no run can refute it.
func (m measured) testable(f fault) *finding.Finding {
	for _, found := range m.findings {
		if found.Test == nil || !slices.Contains(f.Finds, found.Rule) {
			continue
		}
		for _, c := range found.Cells {
			if cellOf(c.Probe, c.Network, c.Levels) == f.cell() {
				found.Cells = found.Cells[:0:0]
				found.Cells = append(found.Cells, c)
				return &found
			}
		}
	}
	return nil
}

// refute runs what could refute findings, and returns the verdicts.
func (m measured) refute(t *testing.T, fs ...finding.Finding) (is []explain.Verdict) {
	t.Helper()
	b, err := json.Marshal(fs)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "findings.json")
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	p := start(t, nil, "explain", m.dir, "--test", "--json", "--keep-disturbed", "--max-time", "90s", "--hypothesis", file)
	if got := p.statusWithin(t, slow); got > 1 { // 1: one is refuted
		t.Fatalf("weir explain: status %d\n%s", got, &p.stderr)
	}
	if err := json.Unmarshal(p.stdout.Bytes(), &is); err != nil {
		t.Fatalf("%v in %s", err, &p.stdout)
	}
	return is
}
