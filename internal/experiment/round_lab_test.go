package experiment

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// Every two of four hosts exchange packets over their tunnel in both directions, and engines end
// with their round. No other test runs engines at this time.
func TestAllPairsInTheLab(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	s := study.Default()
	s.Name, s.Blocks, s.Seed, s.Warmup, s.Duration = "pairs", 2, 7, 10*time.Millisecond, 50*time.Millisecond
	s.AllPairs, s.Swap, s.Topology.Hosts = true, true, 4
	s.Networks = []study.Use{{Kind: "vxlan-overlay"}}
	s.Probes = []study.Use{{Kind: "udp-rr"}}
	s.Factors = map[string][]string{"mtu": {"1500", "1400"}}
	s = s.Resolve()
	most := 0
	w := &watch{atClientsStart: func() { most = max(most, engines(t)) }}
	dir := filepath.Join(t.TempDir(), "out")
	rs, err := measured(t.Context(), Config{
		Study: s, Dir: results(t, dir), Target: w,
		Networks: map[string]Network{"vxlan-overlay": on(t, &network.VXLANOverlay{VNI: 1, Port: 4789}, topo.Spec{Hosts: 4})},
		Probe:    func(string, map[string]string) (probe.Probe, error) { return &probe.UDPRR{}, nil },
	})
	if err != nil || len(rs) != 2*2*6 {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	// Two pairs, both directions, plus the link that showed that the network works.
	if most == 0 || most > 2*(2*2+1) {
		t.Errorf("%d engines ran at once", most)
	}
	if n := engines(t); n != 0 {
		t.Errorf("%d engines are left", n)
	}
	directions := map[string]int{}
	raw := store.OpenRaw(dir)
	for _, r := range rs {
		client, server, _ := strings.Cut(r.Config["pair"], "-")
		if s.Swapped(r.Block) {
			client, server = server, client
		}
		mtu, _ := strconv.Atoi(r.Config["mtu"])
		if r.Status != record.OK || r.Observed["client"] != "pod "+client+"p1" || r.Observed["server"] != "pod "+server+"p1" ||
			r.Observed["path.mtu"] != strconv.Itoa(mtu-50) || record.AtOnce.Of(r.Observed) != 2 {
			t.Errorf("%s is %s: %s, %v", r.Trial, r.Status, r.Reason, r.Observed)
		}
		if _, ok := r.Get("cpu.per.transaction"); ok {
			t.Errorf("%s has a cost of its own", r.Trial)
		}
		directions[client+" "+server]++
		b, err := raw.Read(r.Trial, "commands.json")
		if err != nil || !bytes.Contains(b, []byte(`"clientNode": "`+client+`p1"`)) || !bytes.Contains(b, []byte(`"serverNode": "`+server+`p1"`)) {
			t.Errorf("%s ran as %s, %v", r.Trial, b, err)
		}
	}
	if len(directions) != 12 {
		t.Errorf("directions %v, want all 12", directions)
	}
}

func engines(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil && bytes.HasPrefix(b, []byte("weir\x00engine\x00")) {
			n++
		}
	}
	return n
}
