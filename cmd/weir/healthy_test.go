package main

import (
	"bufio"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/study"
)

var healthy = flag.Int("healthy", 1, "how often TestHealthy measures each probe, half of the times beside a hog")

// A sound network has no structural finding, also beside a program that uses all CPUs, which is found. Alone it
// has none at all, which only a quiet machine can show.
func TestHealthy(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for i := range 2 * ((*healthy + 1) / 2) {
		beside := i%2 == 1
		name := "alone"
		if beside {
			name = "beside a hog"
		}
		t.Run(fmt.Sprintf("%s %d", name, i/2+1), func(t *testing.T) {
			fail := judge(t)
			if beside {
				fail = t.Fatalf // its own load excuses nothing
				loadCPUs(t)
			}
			s := small(study.Use{Kind: "host"}, study.Use{Kind: sound})
			s.Probes = []study.Use{{Kind: "udp-stream"}, {Kind: "tcp-stream"}, {Kind: "udp-rr"}}
			s.Seed = uint64(i + 1)
			m := measure(t, s, false)
			found, contended := m.diagnosis(), 0
			for _, n := range s.Networks {
				for _, p := range s.Probes {
					f := fault{Network: study.Use{Name: n.Kind}, Probe: study.Use{Name: p.Kind}}
					if counted := len(m.trials(f)); counted < analysis.LeastBlocks {
						fail("%s over %s: only %d trials count", p.Kind, n.Kind, counted)
					}
				}
			}
			for at := range found {
				if slices.Contains(found[at], "contention") {
					contended++
				}
				if bad := found.structural(at); len(bad) > 0 {
					fail("%s: found %v", at, bad)
				}
				if !beside && *healthy > 1 && len(found[at]) > 0 {
					t.Errorf("%s: found %v on a quiet machine", at, found[at])
				}
			}
			if beside && contended == 0 {
				t.Error("no contention found beside a hog")
			}
		})
	}
}

// loadCPUs keeps all CPUs busy until the end of the test.
func loadCPUs(t *testing.T) {
	t.Helper()
	cmd := weir("WEIR_TEST_HOG="+t.Name(), "engine", "hog", "--share", "100%")
	in, err := cmd.StdinPipe() // a hog ends with its input
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("hog: %v", err)
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, `"ready"`) {
		t.Fatalf("hog: %q, %v", line, err)
	}
}
