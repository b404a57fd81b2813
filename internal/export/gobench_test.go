package export

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const benchstatRemedy = "make benchstat"

func TestGoBench(t *testing.T) {
	golden(t, "gobench.txt", written(t, GoBench, recorded(t)))
}

// benchstat returns what benchstat says about files, as rows of CSV.
func benchstat(t *testing.T, args []string, files ...[]byte) [][]string {
	t.Helper()
	argv := append([]string{consumer(t, "benchstat", benchstatRemedy), "-format", "csv"}, args...)
	dir := t.TempDir()
	for i, b := range files {
		file := filepath.Join(dir, string(rune('a'+i)))
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
		argv = append(argv, file)
	}
	r := csv.NewReader(strings.NewReader(read(t, nil, argv...)))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// rowOf returns the first row that begins with name after a head with unit.
func rowOf(rows [][]string, unit, name string) []string {
	in := false
	for _, r := range rows {
		if len(r) > 1 && r[0] == "" {
			in = r[1] == unit
		}
		if in && len(r) > 1 && r[0] == name {
			return r
		}
	}
	return nil
}

// benchstat reads every trial with its unit, compares networks of one file, and knows which direction is
// better.
func TestBenchstat(t *testing.T) {
	out := written(t, GoBench, recorded(t))
	rows := benchstat(t, []string{"-col", "/network"}, out)
	for _, unit := range []string{"throughput-bit/s", "packet.rate-packet/s", "rtt-sec"} {
		if !strings.Contains(strings.Join(flat(rows), " "), unit) {
			t.Errorf("no table of %s in %v", unit, rows)
		}
	}
	text := read(t, out, consumer(t, "benchstat", benchstatRemedy), "-col", "/network", "-")
	for _, want := range []string{"host", "bridge", "vxlan-overlay", "kernel: 6.12.9", "cpu: Example 3 GHz", "weir: v1.2.3"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	before, after := made(1, "third", unchanged), made(2, "third", func(network, _ string) float64 {
		if network == "overlay" {
			return 0.5
		}
		return 1
	})
	rows = benchstat(t, nil, written(t, GoBench, before), written(t, GoBench, after))
	overlay := rowOf(rows, "throughput-bit/s", "Weir/probe=tcp-stream/network=overlay-8")
	if overlay == nil || !strings.HasPrefix(overlay[len(overlay)-2], "-4") && !strings.HasPrefix(overlay[len(overlay)-2], "-5") {
		t.Errorf("half the throughput is %q in %v", overlay, rows)
	}
	text = string(written(t, GoBench, before))
	for _, want := range []string{"Unit throughput-bit/s better=higher\n", "Unit rtt-sec better=lower\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}

func flat(rows [][]string) (out []string) {
	for _, r := range rows {
		out = append(out, r...)
	}
	return out
}

// A name that ends in a number is not taken for GOMAXPROCS, and hostile names stay one field.
func TestBenchstatReadsAnyName(t *testing.T) {
	rows := benchstat(t, []string{"-row", "/network"}, written(t, GoBench, made(1, "host-2", unchanged)))
	if rowOf(rows, "throughput-bit/s", "host-2") == nil || rowOf(rows, "throughput-bit/s", "host") == nil {
		t.Errorf("host-2 and host are one in %v", rows)
	}
	out := written(t, GoBench, hostileRun(t))
	lines := bytes.Count(out, []byte("\nBenchmarkWeir/"))
	if lines != 48 {
		t.Errorf("%d of 48 trials in\n%s", lines, out)
	}
	cells := 0
	for _, r := range benchstat(t, nil, out) {
		if strings.HasPrefix(r[0], "Weir/probe=") {
			cells++
		}
	}
	if cells != 6 {
		t.Errorf("%d cells of 6", cells)
	}
}

// Trials that do not count, and values that no counter resolves, are not benchmarks.
func TestGoBenchLeavesOut(t *testing.T) {
	r := recorded(t)
	n := 0
	for _, row := range r.Analysis.Rows() {
		n += row.Counted()
	}
	out := written(t, GoBench, r)
	if got := bytes.Count(out, []byte("\nBenchmarkWeir/")); got != n {
		t.Errorf("%d lines, want one for each of %d trials", got, n)
	}
	if bytes.Contains(out, []byte("p99")) {
		t.Error("percentiles of single trials are exported: benchstat would average them")
	}
}
