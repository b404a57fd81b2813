package experiment

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// inZones returns hosts in zones; without any, as they are.
func inZones(hosts []topo.Host, zones []string) []topo.Host {
	hosts = slices.Clone(hosts)
	for i, z := range zones {
		hosts[i].Zone = z
	}
	return hosts
}

// measuredPairs returns the pairs that a run of two networks measured.
func measuredPairs(t *testing.T, c Config) map[string]int {
	t.Helper()
	rs, err := measured(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, r := range rs {
		n[r.Config["pair"]]++
		if !record.ClientHost.In(r.Observed) || !record.ServerHost.In(r.Observed) {
			t.Errorf("%s does not say which machines it used: %v", r.Trial, r.Observed)
		}
	}
	return n
}

// The machines that a run found, with their zones, are stored. A resumed run draws its rounds with the
// stored zones, and refuses other machines.
func TestFoundMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "out")
		m := &machine{exists: true, zones: []string{"a", "b", "a", "b", "c", "a"}}
		s := fakeStudy(1)
		s.Rounds = 2
		c := pairsConfig(t, m, s, 6, dir)
		first := measuredPairs(t, c)
		if len(first) != 6 {
			t.Errorf("measured %v, want 2 rounds of 3 pairs", first)
		}
		s.Zones, s.Topology.Hosts, s.AllPairs = m.zones, 6, true
		for _, g := range s.Schedule(1, s.Cells(nil)) {
			for _, tr := range g {
				if first[tr.Pair.String()] != 2 {
					t.Errorf("%s was measured %d times, want once over each network", tr.Pair, first[tr.Pair.String()])
				}
			}
		}
		file := filepath.Join(dir, "machines.json")
		b, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(b), `"name": "h5"`) || !strings.Contains(string(b), `"zone": "c"`) {
			t.Errorf("%s, %v", b, err)
		}
		if err := c.Dir.Close(); err != nil {
			t.Fatal(err)
		}

		// One trial is lost, and the zones are unknown now.
		results := filepath.Join(dir, "results.jsonl")
		lines, err := os.ReadFile(results)
		if err != nil {
			t.Fatal(err)
		}
		cut := lines[:strings.LastIndex(strings.TrimSuffix(string(lines), "\n"), "\n")+1]
		if err := os.WriteFile(results, cut, 0o666); err != nil {
			t.Fatal(err)
		}
		s = fakeStudy(1)
		s.Rounds, m.zones = 2, nil
		again := pairsConfig(t, m, s, 6, dir)
		if got := measuredPairs(t, again); !reflect.DeepEqual(got, first) {
			t.Errorf("after resuming %v, want %v", got, first)
		}
		if err := again.Dir.Close(); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(file, []byte(strings.Replace(string(b), "h5", "other", 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := Run(t.Context(), pairsConfig(t, m, s, 6, dir)); err == nil || !strings.Contains(err.Error(), "the run began on h1, h2, h3, h4, other, h6 and now finds h1") {
			t.Errorf("error %v", err)
		}
	})
}

// A run that builds its networks has no machines to name.
func TestLabHasNoMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "out")
		rs, err := measured(t.Context(), config(t, &machine{}, fakeStudy(1), dir))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "machines.json")); err == nil || record.ClientHost.In(rs[0].Observed) {
			t.Errorf("machines of the lab: %v", rs[0].Observed)
		}
	})
}

// Progress counts the chosen rounds alone, and a finished run is one.
func TestProgressOfRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "out")
		s := fakeStudy(2)
		s.Rounds = 3
		c := pairsConfig(t, &machine{}, s, 7, dir)
		var last Event
		c.Progress = func(e Event) { last = e }
		rs, err := measured(t.Context(), c)
		if want := 2 * 2 * 3 * 3; err != nil || len(rs) != want || last.Total != want || last.Done != want {
			t.Errorf("%d results, progress ends at %d of %d, want %d, %v", len(rs), last.Done, last.Total, want, err)
		}
		if done, err := Finished(c.Study, nil, c.Dir); !done || err != nil {
			t.Errorf("finished: %v, %v", done, err)
		}
	})
}
