package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/topo"
)

// startup measures the time from nothing until each network of the catalog is ready, as `weir lab
// up` waits for it, in rounds of random order, and writes the table behind docs/networks.md.
// Networks that cannot be built here are omitted, with the reason on standard error.
func startup(ctx context.Context, rounds int, w io.Writer) error {
	took := map[string][]float64{} // seconds
	names := catalog.In(network.InLab)
	order := rand.New(rand.NewPCG(1, uint64(rounds))) // the same one every time
	for round := range rounds {
		order.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			d, err := up(ctx, catalog.Networks[name])
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				fmt.Fprintf(os.Stderr, "round %d: %s: %v\n", round+1, name, err)
				continue
			}
			took[name] = append(took[name], d.Seconds())
		}
	}
	f := facts.Collect(os.DirFS("/"))
	c := csv.NewWriter(w)
	_ = c.Write([]string{"network", "rounds", "min_s", "median_s", "max_s", "cpu", "cpus", "kernel", "date"}) // Error tells
	for _, name := range catalog.Names(took) {
		s := took[name]
		if len(s) < rounds {
			fmt.Fprintf(os.Stderr, "%s was ready in %d of %d rounds: left out\n", name, len(s), rounds)
			continue
		}
		sec := func(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }
		_ = c.Write([]string{name, strconv.Itoa(rounds), sec(slices.Min(s)), sec(stat.Median(s, 0.95).Center), sec(slices.Max(s)),
			f.CPU, strconv.Itoa(f.CPUs), f.Kernel, time.Now().Format(time.DateOnly)})
	}
	c.Flush()
	return c.Error()
}

func up(ctx context.Context, n catalog.Network) (took time.Duration, err error) {
	t, err := topo.New(n.Spec(n.New(), topo.Spec{Kernel: lab.Kernel()}))
	if err != nil {
		return 0, err
	}
	p, err := network.Build(n.New(), t)
	if err != nil {
		return 0, err
	}
	for _, program := range p.Programs() {
		if _, _, err := facts.Tool(ctx, program); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	site, err := lab.Open(ctx, network.Places(t), "")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	err = site.Apply(ctx, p.Steps)
	return time.Since(start), err
}
