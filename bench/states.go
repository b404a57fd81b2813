package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// states looks for the cause of the states that throughput has for seconds to minutes. It measures
// TCP and UDP on the host network for d and, between any two trials, three quantities in this
// process that involve no network: arithmetic in registers, a copy between buffers larger than the
// caches, and a copy within the first-level cache. It also reads the kernel's per-CPU page lists and
// the machine's steal time.
//
// A state that the copy shares is one of the machine's memory, not one of the network stack; a state
// that none of them shares is the stack's own. The table holds the correlation of each candidate
// with the throughput, of single trials and of means over ten seconds.
func states(ctx context.Context, d time.Duration, dir string, w io.Writer) error {
	const trialTime = 80 * time.Millisecond // with its overhead
	s := study.Default()
	s.Name, s.Warmup, s.Duration = "states", 10*time.Millisecond, 50*time.Millisecond
	s.Networks = []study.Use{{Kind: "host"}}
	s.Probes = []study.Use{{Kind: "tcp-stream"}, {Kind: "udp-stream"}}
	s.Blocks = max(2, int(d/(2*trialTime+controlTime)))
	control := newControl()
	at := map[string]map[string]float64{}
	results, err := runThen(ctx, s, aaProbes, dir, func(r record.Result) { at[r.Trial] = control.measure() })
	if err != nil {
		return err
	}
	var rows []map[string]float64
	for _, r := range results {
		if v, ok := r.Get("throughput"); ok && r.Status == record.OK && v.Value > 0 {
			row := at[r.Trial]
			row["time"], row["throughput"] = r.Start.Sub(results[0].Start).Seconds(), v.Value
			row["tcp"] = map[string]float64{"tcp-stream": 1}[r.Config["probe"]]
			rows = append(rows, row)
		}
	}
	if err := writeStates(filepath.Join(dir, "states.csv"), rows); err != nil {
		return err
	}
	f := facts.Collect(os.DirFS("/"))
	fmt.Fprintf(w, "# States of throughput\n\nMade on %s: %s, %d CPUs, Linux %s. %d trials of 50 ms in %.0f s.\n\n",
		results[0].Start.Format("2006-01-02"), f.CPU, f.CPUs, f.Kernel, len(rows), rows[len(rows)-1]["time"])
	for i, name := range []string{"UDP", "TCP"} {
		kind := slices.DeleteFunc(slices.Clone(rows), func(r map[string]float64) bool { return r["tcp"] != float64(i) })
		fmt.Fprintf(w, "| %s with | single trials | means over 10 s |\n|---|---|---|\n", name)
		slow := means(kind, 10)
		for _, c := range append(candidates, "time") {
			fmt.Fprintf(w, "| %s | %.2f | %.2f |\n", c, correlation(kind, c), correlation(slow, c))
		}
		fmt.Fprintf(w, "\nStandard deviation of single trials %.1f %%, of %d means %.1f %%.\n\n",
			100*spread(kind), len(slow), 100*spread(slow))
	}
	return nil
}

// candidates are the names of the control's values.
var candidates = []string{"arithmetic", "copy.memory", "copy.cache", "pages.high", "pages.count", "steal"}

// controlTime is about the time of one measurement of the control.
const controlTime = 12 * time.Millisecond

// A control measures the machine without its network.
type control struct{ from, to, small []byte }

func newControl() *control {
	const beyondCaches = 64 << 20
	return &control{make([]byte, beyondCaches), make([]byte, beyondCaches), make([]byte, 16<<10)}
}

func (c *control) measure() map[string]float64 {
	out := map[string]float64{}
	begin := time.Now()
	x := uint64(1)
	for range 1 << 21 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	out["arithmetic"] = 1 / time.Since(begin).Seconds()
	c.small[0] = byte(x)
	begin = time.Now()
	copy(c.to, c.from)
	out["copy.memory"] = float64(len(c.to)) / time.Since(begin).Seconds()
	begin = time.Now()
	for range 1 << 13 {
		copy(c.small[:8<<10], c.small[8<<10:])
	}
	out["copy.cache"] = 1 / time.Since(begin).Seconds()
	out["pages.high"], out["pages.count"] = sum("/proc/zoneinfo", "high:"), sum("/proc/zoneinfo", "count:")
	out["steal"] = stolen()
	return out
}

// sum adds the values of all lines "key value" of a file; 0 if it cannot be read.
func sum(name, key string) (total float64) {
	f, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if w := strings.Fields(lines.Text()); len(w) == 2 && w[0] == key {
			v, _ := strconv.ParseFloat(w[1], 64)
			total += v
		}
	}
	return total
}

// stolen returns the machine's steal time since it started, in ticks (proc(5), the eighth value of
// the line cpu).
func stolen() float64 {
	b, err := os.ReadFile("/proc/stat")
	if w := strings.Fields(string(b)); err == nil && len(w) > 8 {
		v, _ := strconv.ParseFloat(w[8], 64)
		return v
	}
	return 0
}

// means averages rows over windows of seconds.
func means(rows []map[string]float64, seconds float64) (out []map[string]float64) {
	byWindow := map[int][]map[string]float64{}
	for _, r := range rows {
		n := int(r["time"] / seconds)
		byWindow[n] = append(byWindow[n], r)
	}
	for _, rs := range byWindow {
		m := map[string]float64{}
		for _, r := range rs {
			for k, v := range r {
				m[k] += v / float64(len(rs))
			}
		}
		out = append(out, m)
	}
	return out
}

// correlation is Pearson's, of the logarithm of throughput with the candidate; 0 if one is constant.
func correlation(rows []map[string]float64, name string) float64 {
	var sx, sy, sxx, syy, sxy float64
	n := float64(len(rows))
	for _, r := range rows {
		x, y := r[name], math.Log(r["throughput"])
		sx, sy, sxx, syy, sxy = sx+x/n, sy+y/n, sxx+x*x/n, syy+y*y/n, sxy+x*y/n
	}
	if vx, vy := sxx-sx*sx, syy-sy*sy; vx > 1e-12*sxx && vy > 0 {
		return (sxy - sx*sy) / math.Sqrt(vx*vy)
	}
	return 0
}

// spread is the standard deviation of the logarithm of throughput.
func spread(rows []map[string]float64) float64 {
	var s, ss float64
	n := float64(len(rows))
	for _, r := range rows {
		y := math.Log(r["throughput"])
		s, ss = s+y/n, ss+y*y/n
	}
	return math.Sqrt(max(0, ss-s*s))
}

func writeStates(name string, rows []map[string]float64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	c := csv.NewWriter(f)
	columns := append([]string{"time", "tcp", "throughput"}, candidates...)
	_ = c.Write(columns) // Error tells
	for _, r := range rows {
		line := make([]string, len(columns))
		for i, name := range columns {
			line[i] = strconv.FormatFloat(r[name], 'g', -1, 64)
		}
		_ = c.Write(line)
	}
	c.Flush()
	return c.Error()
}
