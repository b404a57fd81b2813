package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// A variant is a network that stands in different forms under one name, so that two variants are one
// network before and after a change.
type variant struct {
	name     string
	base     string // variant before the change; "" if this is one
	driver   network.Driver
	topology func(*topo.Spec)
	probes   []string
	blocks   int
	settle   time.Duration // of each slice
	duration time.Duration
	changed  []string // probes that the change makes worse
}

func variants() []variant {
	overlay := network.VXLANOverlay{VNI: network.DefaultVNI, Port: network.DefaultVXLANPort}
	link := func(name, base string, rate float64, changed ...string) variant {
		return variant{name, base, overlay, func(s *topo.Spec) { s.Rate = rate }, []string{"tcp-stream", "udp-stream"},
			10, 200 * time.Millisecond, time.Second, changed} // the shaper and TCP need time to settle
	}
	rules := func(name, base string, n int, changed ...string) variant {
		return variant{name, base, network.Routed{Rules: n}, func(*topo.Spec) {}, []string{"tcp-stream", "udp-stream", "udp-rr"},
			40, 20 * time.Millisecond, 50 * time.Millisecond, changed}
	}
	hop := func(name, base string, nic topo.NIC, changed ...string) variant {
		return variant{name, base, overlay, func(s *topo.Spec) { s.NIC = nic }, []string{"tcp-stream", "udp-stream", "udp-rr"},
			40, 20 * time.Millisecond, 50 * time.Millisecond, changed}
	}
	return []variant{
		link("link 1 Gbit/s", "", 1e9),
		link("link 950 Mbit/s", "link 1 Gbit/s", 0.95e9, "tcp-stream", "udp-stream"),
		link("link 900 Mbit/s", "link 1 Gbit/s", 0.9e9, "tcp-stream", "udp-stream"),
		rules("no rule", "", 0),
		rules("4 rules", "no rule", 4, "udp-stream"),
		rules("8 rules", "no rule", 8, "udp-stream"),
		hop("offload at every hop", "", topo.NICFull),
		hop("no tunnel offload at one hop", "offload at every hop", topo.NICTSO, "tcp-stream"),
	}
}

// changes makes separate runs of each variant next to the host network, and counts how often
// analysis.Compare finds the changes with 3 and 5 runs a side, and how often it finds one between runs
// of the same variant.
func changes(ctx context.Context, runs int, dir string, w io.Writer) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "weir-changes"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	of := map[string][]*analysis.Run{}
	begin := time.Now()
	for n := range runs { // the variants in turn, so that drift of the machine does not look like a change
		for _, v := range variants() {
			r, err := v.run(ctx, n, filepath.Join(dir, fmt.Sprintf("%03d", n+1), v.name))
			if err != nil {
				return err
			}
			of[v.name] = append(of[v.name], r)
		}
	}
	writeChanges(w, of, runs, time.Since(begin))
	return nil
}

func (v variant) run(ctx context.Context, n int, dir string) (*analysis.Run, error) {
	if measured, err := store.Read(dir); err == nil { // by an earlier call with the same -o
		return analysis.New(measured.Results, analysis.Options{Baseline: "host"}), nil
	}
	var spec topo.Spec
	plain, err := topo.New(spec)
	if err != nil {
		return nil, err
	}
	v.topology(&spec)
	hosts, err := topo.New(spec)
	if err != nil {
		return nil, err
	}
	hostTopology := plain
	if spec.Rate > 0 { // the host's link never changes
		hostTopology.Rate = 1e9
	}
	s := study.Default()
	s.Name, s.Blocks, s.Warmup, s.Duration, s.Seed = "changes", v.blocks, v.settle, v.duration, uint64(n+1)
	s.Networks = []study.Use{{Kind: "host"}, {Kind: "changed"}}
	for _, p := range v.probes {
		s.Probes = append(s.Probes, study.Use{Kind: p})
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return nil, err
	}
	d, err := store.Create(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	err = experiment.Run(ctx, experiment.Config{
		Study: s.Resolve(), Dir: d, Target: lab.Target{},
		Networks: map[string]experiment.Network{
			"host":    {Driver: network.Host{}, Topology: hostTopology},
			"changed": {Driver: v.driver, Topology: hosts},
		},
		Applies: func(string, string) bool { return false },
		Probe:   func(name string, _ map[string]string) (probe.Probe, error) { return catalog.FindProbe(name) },
		Progress: func(e experiment.Event) {
			if e.Result != nil && e.Result.Status != record.OK {
				fmt.Fprintf(os.Stderr, "%s: %s\n", e.Result.Trial, e.Result.Reason)
			}
			fmt.Fprintf(os.Stderr, "\r%d/%d, %v left   ", e.Done, e.Total, e.Left.Round(time.Second))
		},
	})
	if err != nil {
		return nil, err
	}
	results, err := d.Results()
	if err != nil {
		return nil, err
	}
	return analysis.New(results, analysis.Options{Baseline: "host"}), nil
}

const comparedPairs = 50 // of groups of runs

// split returns two disjoint groups of k of n runs, or one of k of each of two variants.
func split(r *rand.Rand, a, b []*analysis.Run, k int) (x, y []*analysis.Run) {
	p, q := r.Perm(len(a)), r.Perm(len(b))
	if len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		q = p[k:]
	}
	for i := range k {
		x, y = append(x, a[p[i]]), append(y, b[q[i]])
	}
	return x, y
}

func writeChanges(w io.Writer, of map[string][]*analysis.Run, runs int, took time.Duration) {
	f := facts.Collect(os.DirFS("/"))
	fmt.Fprintf(w, "# Changes found\n\nMade on %s: %s, %d CPUs, Linux %s. %d separate runs of each variant in %s; %d random pairs of groups.\n\n"+
		"| before | after | probe | ratio after ÷ before, all runs | shown with 3 runs a side | with 5 | changed |\n|---|---|---|---|---|---|---|\n",
		time.Now().Format("2006-01-02"), f.CPU, f.CPUs, f.Kernel, runs, unit.Format(took.Seconds(), "s"), comparedPairs)
	for _, v := range variants() {
		before := v.base
		if before == "" {
			before = v.name
		}
		all := analysis.Compare(of[before], of[v.name], 0)
		for _, c := range all.Changes {
			fmt.Fprintf(w, "| %s | %s | %s | %.3f [%.3f, %.3f] |", before, v.name, c.Probe, c.Ratio.Center, c.Ratio.Lo, c.Ratio.Hi)
			for _, k := range []int{3, 5} {
				if runs < k || v.base == "" && runs < 2*k {
					fmt.Fprint(w, " - |")
					continue
				}
				worse, better := shownOf(of[before], of[v.name], c.Probe, k)
				fmt.Fprintf(w, " %d %% worse, %d %% better |", worse, better)
			}
			changed := "no"
			if slices.Contains(v.changed, c.Probe) {
				changed = "yes"
			}
			fmt.Fprintf(w, " %s |\n", changed)
		}
	}
}

// shownOf returns how many per cent of pairs of groups of k runs show probe worse, and better.
func shownOf(a, b []*analysis.Run, probe string, k int) (worse, better int) {
	r := rand.New(rand.NewPCG(1, 2))
	for range comparedPairs {
		x, y := split(r, a, b, k)
		for _, c := range analysis.Compare(x, y, 0).Changes {
			if c.Probe == probe && c.Worse {
				worse++
			}
			if c.Probe == probe && c.Better {
				better++
			}
		}
	}
	return 100 * worse / comparedPairs, 100 * better / comparedPairs
}
