package studies_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
	"github.com/weir-bench/weir/studies"
)

func TestShipped(t *testing.T) {
	files, err := fs.Glob(studies.FS, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"applications", "bmwg-latency", "bmwg-resources", "bmwg-scaling", "bmwg-throughput", "cluster", "cni-comparison", "cni-comparison-load", "cni-comparison-mpi", "cni-comparison-one-host", "cni-comparison-sizes",
		"data-paths", "direction-matrix", "docker-overlay-throughput", "fragmentation", "gro", "guest-queues", "ladder", "latency-under-load", "link-limited", "macvlan-veth-ipvlan", "macvlan-veth-ipvlan-one-host",
		"message-size", "mpi", "mtu", "multihop", "multihop-far", "offload", "overlay-cost", "overlay-hook", "overlay-in-guests", "overlay-vs-ovs", "overlay-vs-ovs-one-host", "policy-rules", "quick", "scaling", "services",
		"spread-flows", "star", "terway-zones",
		"tool-agreement", "udp-vs-tcp", "vxlan-and-kvm", "vxlan-and-kvm-load"} {
		if !slices.Contains(files, want+".yaml") {
			t.Errorf("%s is not shipped", want)
		}
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			src, err := fs.ReadFile(studies.FS, file)
			if err != nil {
				t.Fatal(err)
			}
			about, _, _ := bytes.Cut(src, []byte("question:"))
			if !bytes.HasPrefix(about, []byte("# ")) || !bytes.Contains(about, []byte("?")) {
				t.Error("it does not begin with a comment that says which question it answers")
			}
			if !bytes.Contains(about, []byte("Expect")) {
				t.Error("it does not say what to expect")
			}
			if n := bytes.Count(src, []byte("\n")); n > 30 {
				t.Errorf("%d lines: a study is one idea in at most 30", n)
			}
			s, err := study.Load(src, file)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(); err != nil {
				t.Error(err)
			}
			if s.Question == "" {
				t.Error("no question")
			}
			cells := s.Cells(catalog.Applies)
			if len(cells) < 2 || len(study.Block(1, 1, cells)) != len(cells) {
				t.Errorf("%d cells: nothing to compare", len(cells))
			}
			// The signed-rank test bounds no ratio with fewer blocks (stat.Ratio).
			for _, form := range []study.Study{s, s.Faster()} {
				if n := ratios(s, cells); n > 0 && math.Pow(2, float64(1-form.Blocks)) > 0.05/float64(n) {
					t.Errorf("%d blocks of %v give no intervals to %d ratios that hold together", form.Blocks, form.Duration, n)
				}
			}
			if d := catalog.Estimate(s); d > time.Hour {
				t.Errorf("it takes about %v", d)
			}
			limit := 5 * time.Minute
			if s.Name == "tool-agreement" {
				limit = 18 * time.Minute // its tools count in whole seconds, and one takes 24 of them
			}
			if d := catalog.Estimate(s.Faster()); d > limit {
				t.Errorf("its fast form takes about %v: fewer blocks, or two studies", d)
			}
			if _, err := s.Encode(); err != nil {
				t.Error(err)
			}
		})
	}
}

// ratios is how many ratios a report of s has that hold together, where response times are taken apart.
func ratios(s study.Study, cells []study.Cell) int {
	var all []record.Result
	for i, c := range cells {
		r := record.Result{Trial: fmt.Sprint(i), Block: 1, Status: record.OK, Config: map[string]string{analysis.Network: c.Network, analysis.Probe: c.Probe},
			Values: []record.Value{{Name: "value", Unit: "1", Value: 1}}}
		maps.Copy(r.Config, c.Levels)
		if u, _ := s.Probe(c.Probe); u.Kind == "tcp-rr" || u.Kind == "udp-rr" || u.Kind == "udp-open" {
			r.Values = append(r.Values, record.Value{Name: "rtt.path", Unit: "s", Value: 1})
		}
		for _, x := range s.Compare {
			r.Values = append(r.Values, record.Value{Name: record.Quantity(x.Value), Unit: "1", Value: 1})
		}
		all = append(all, r)
	}
	return analysis.New(all, experiment.Reading(s)).Comparisons
}
