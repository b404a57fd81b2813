package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

// TestForeignTools measures with every foreign probe whose tool is installed, across a VXLAN
// between two pods, for a second each.
func TestForeignTools(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	byTool := map[string][]string{}
	for _, name := range catalog.Names(catalog.Probes) {
		if ts := catalog.Probes[name]().Info().Tools; len(ts) > 0 {
			client := ts[len(ts)-1].Program
			byTool[client] = append(byTool[client], name)
		}
	}
	for _, tool := range catalog.Names(byTool) {
		probes := byTool[tool]
		_, version, err := toolInfo(tool).Find(t.Context())
		if !free(tool) && err != nil {
			t.Logf("%s is not tried: it is not installed, and CI cannot install it", tool)
			continue
		}
		t.Run(tool, func(t *testing.T) {
			if err != nil {
				t.Skip(err)
			}
			if !polls(tool) {
				t.Parallel()
			}
			dir := filepath.Join(t.TempDir(), "out")
			p := start(t, nil, "run", "-n", "vxlan-overlay", "-p", strings.Join(probes, ","), "--blocks", "1", "--duration", "1s", "--warmup", "0s", "-o", dir)
			if got := p.status(t); got != 0 {
				t.Fatalf("status %d\n%s", got, &p.stderr)
			}
			c, err := store.Read(dir)
			if err != nil || len(c.Results) != len(probes) {
				t.Fatalf("%d results for %d probes, %v", len(c.Results), len(probes), err)
			}
			for _, r := range c.Results {
				if r.Status != record.OK || len(r.Values) == 0 || r.Values[0].Value <= 0 {
					t.Errorf("%s: %s %s %v", r.Trial, r.Status, r.Reason, r.Values)
				}
				if _, found, _ := strings.Cut(r.Observed["tool"], " "); found == "" && version != "" {
					t.Errorf("%s: found tool %q without a version", r.Trial, r.Observed["tool"])
				}
			}
		})
	}
}

// polls reports whether a tool polls for messages: two instances take two CPUs, and with a third
// program each message takes a time slice.
func polls(tool string) bool {
	return strings.HasPrefix(tool, "NP") && tool != "NPtcp" || strings.HasPrefix(tool, "osu_")
}

// free reports whether a tool's package is in Debian's main section. Others are built from source, which a
// machine may not get.
func free(tool string) bool {
	of := toolInfo(tool).Package
	return !strings.Contains(of, "non-free") && !strings.Contains(of, "no package has it") && !strings.HasPrefix(of, "make ")
}

func toolInfo(program string) facts.ToolInfo {
	all := catalog.Tools()
	return all[slices.IndexFunc(all, func(t facts.ToolInfo) bool { return t.Program == program })]
}
