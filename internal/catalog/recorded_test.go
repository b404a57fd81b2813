package catalog

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"testing"
)

// ratios returns what docs/performance.csv says about each network, as written by weir report --format
// ratios.
func ratios(t *testing.T) func(network string) string {
	t.Helper()
	known := map[string]string{}
	f, err := os.Open(performance)
	if err == nil {
		defer f.Close()
		rows, err := csv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", performance, err)
		}
		column := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
		for _, r := range rows[1:] {
			name := map[string]string{"tcp-stream throughput": "TCP", "udp-rate packet.rate": "UDP", "tcp-rr rtt": "response"}[column(r, "probe")+" "+column(r, "name")]
			v, err := strconv.ParseFloat(column(r, "ratio"), 64)
			if err != nil || name == "" {
				continue
			}
			word := fmt.Sprintf(", %s %.2f×", name, v)
			lo, _ := strconv.ParseFloat(column(r, "lo"), 64)
			if hi, err := strconv.ParseFloat(column(r, "hi"), 64); err != nil || lo <= 1 && 1 <= hi {
				word += " ~" // no interval, or one that contains 1
			}
			known[column(r, "network")] += word
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return func(network string) string {
		if k := known[network]; k != "" {
			return k[len(", "):]
		}
		return unmeasured
	}
}

// startups returns each network's start-up time as text, from a file that a measurement writes and
// that can be missing.
func startups(t *testing.T) func(network string) string {
	t.Helper()
	median := map[string]string{}
	f, err := os.Open(startup)
	if err == nil {
		defer f.Close()
		rows, err := csv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", startup, err)
		}
		at := slices.Index(rows[0], "median_s")
		for _, r := range rows[1:] {
			median[r[0]] = r[at] + " s"
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return func(network string) string {
		if m := median[network]; m != "" {
			return m
		}
		return unmeasured
	}
}
