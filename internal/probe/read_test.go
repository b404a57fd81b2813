package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-bench/weir/record"
)

// outputs returns the recorded outputs in testdata/read, and the clients' of all tools that weir runs.
// Their command lines are in the .cmd files.
func outputs(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, pattern := range []string{"read/*.txt", "read/*.json", "iperf3/*.json", "iperf/*.out", "nuttcp/*.out", "qperf/*.out", "sockperf/*.out", "netperf/*.out", "fping/*.out", "osu_*/*.out", "NP*/*.err",
		"wrk/*.out", "h2load/*.out", "pgbench/*.out", "dnsperf/*.out", "redis-benchmark/*.out"} {
		files, err := filepath.Glob("testdata/" + pattern)
		if err != nil || files == nil {
			t.Fatalf("%s: no recorded output: %v", pattern, err)
		}
		for _, f := range files {
			if filepath.Base(f) == "golden.txt" {
				continue
			}
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			out[strings.TrimPrefix(filepath.ToSlash(f), "testdata/")] = b
		}
	}
	return out
}

// stated is the probe that a recording's name states, for outputs that do not say it.
func stated(name string) string {
	if strings.Contains(name, "csv-tcp") {
		return "iperf2-tcp"
	}
	return ""
}

func describe(all []Statement, err error) string {
	var b strings.Builder
	if err != nil {
		fmt.Fprintf(&b, "  error: %v\n", err)
	}
	for i, r := range all {
		if i == 3 && len(all) > 4 {
			fmt.Fprintf(&b, "  … and %d more\n", len(all)-i)
			break
		}
		fmt.Fprintf(&b, "  %s", r.Kind)
		for _, k := range slices.Sorted(maps.Keys(r.Levels)) {
			fmt.Fprintf(&b, " %s=%s", k, r.Levels[k])
		}
		if !r.Start.IsZero() {
			fmt.Fprintf(&b, " at %s", r.Start.Format("2006-01-02 15:04:05"))
		}
		fmt.Fprintln(&b)
		for _, v := range r.Values {
			fmt.Fprintf(&b, "    %s %s %s\n", v.Key(), strconv.FormatFloat(v.Value, 'g', 6, 64), v.Unit)
		}
		for _, k := range slices.Sorted(maps.Keys(r.Observed)) {
			fmt.Fprintf(&b, "    found %s: %s\n", k, r.Observed[k])
		}
		for _, w := range r.Notes {
			fmt.Fprintf(&b, "    note %s: %s\n", w.Code, w)
		}
	}
	return b.String()
}

func TestRead(t *testing.T) {
	var b bytes.Buffer
	all := outputs(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		read, err := Read(all[name], stated(name))
		if err == nil && len(read) == 0 {
			t.Errorf("%s: neither a statement nor an error", name)
		}
		fmt.Fprintf(&b, "%s\n%s", name, describe(read, err))
	}
	checkGolden(t, "testdata/read/golden.txt", b.Bytes())
}

// What weir's own parsers read from an output, with the command line at hand, Read finds without it.
func TestReadAgrees(t *testing.T) {
	n := 0
	for _, r := range recordings {
		for _, name := range r.cases(t) {
			p, out := r.of(name), r.output(t, name)
			want, err := p.Parse(out)
			got, readErr := Read(out.Client, "")
			if err != nil || readErr != nil {
				continue
			}
			n++
			for _, w := range want.Values[:1] {
				got := got[len(got)-1:] // redis-benchmark sets before it gets
				at := slices.IndexFunc(got[0].Values, func(v record.Value) bool { return v.Name == w.Name })
				if at < 0 {
					continue // a summary without it
				}
				// The client of iperf 2 counts at the other end; its own count differs by a socket buffer.
				if v := got[0].Values[at].Value; v < 0.93*w.Value || v > 1.07*w.Value || r.tool != "iperf" && r.tool != "nuttcp" && (v < 0.9999*w.Value || v > 1.0001*w.Value) {
					t.Errorf("%s/%s: %s is %g, Parse has %g", r.tool, name, w.Name, v, w.Value)
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d outputs compared", n)
	}
}

// An output that was cut anywhere is refused, or gives the numbers that it printed before the cut.
func TestReadCut(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for name, b := range outputs(t) {
		whole, err := Read(b, stated(name))
		if err != nil {
			continue
		}
		known := map[string]bool{}
		for _, r := range whole {
			known[key(r)] = true
		}
		step := 1
		switch {
		case strings.HasPrefix(name, "read/") && len(b) > 3000:
			step = len(b) / 1000
		case strings.HasSuffix(name, ".json"):
			step = max(1, len(b)/60) // the JSON parser refuses any
		case !strings.HasPrefix(name, "read/"):
			step = max(1, len(b)/300)
		}
		for n := 0; n < len(b) && !t.Failed(); n += step {
			cut, err := Read(b[:n], stated(name))
			if err == nil && len(cut) == 0 {
				t.Fatalf("%s: neither a statement nor an error of %d bytes", name, n)
			}
			for _, r := range cut {
				if strings.HasPrefix(name, "read/iperf-2.1.8-tcp-streams") && bytes.Count(b[:n], []byte("[SUM]")) == 1 {
					continue // the first interval of iperf 2 looks like a whole test of one second, and is right for it
				}
				if strings.HasSuffix(name, "both-ends.txt") {
					continue // that of the sender comes first
				}
				if strings.Contains(name, "csv-tcp-streams") {
					continue // -y C of 2.1 prints no sum of its streams
				}
				if strings.Contains(name, "netperf") && r.Values[0].Name == "rtt.mean" {
					continue // nothing marks the end of KEY=value lines: without its own, the mean is the inverse of the rate
				}
				if !known[key(r)] && !strings.Contains(name, "fping") { // fewer samples of the same
					t.Errorf("%s: %s from the first %d of %d bytes, not in the whole output", name, key(r), n, len(b))
				}
			}
			if strings.HasSuffix(name, ".json") && err == nil && len(bytes.TrimSpace(b[n:])) > 0 {
				t.Errorf("%s: accepted %d of %d bytes", name, n, len(b))
			}
		}
	}
}

// key names the first value of a statement. A cut can also remove a level, such as qperf's size.
func key(r Statement) string {
	return fmt.Sprint(r.Kind, " ", r.Values[0].Name, " ", r.Values[0].Value)
}

func FuzzRead(f *testing.F) {
	for name, b := range outputs(f) {
		if len(b) < 20_000 {
			f.Add(b, stated(name))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, kind string) {
		all, err := Read(b, kind)
		if (err == nil) != (len(all) > 0) {
			t.Fatalf("%d statements, error %v", len(all), err)
		}
		for _, r := range all {
			checkMeasured(t, r.Measured, nil)
			if r.Kind == "" {
				t.Errorf("a statement of no probe: %+v", r)
			}
		}
	})
}

// A line that a reader skips is no result.
func TestReadNothing(t *testing.T) {
	for _, text := range []string{"ICMP : [0], \n", "ICMP : xmt/rcv/%loss = \n"} {
		if r, err := Read([]byte(text), ""); err == nil {
			t.Errorf("%q is %+v", text, r)
		}
	}
	if _, err := Read([]byte(`{"format": 1, "counters": {}}`), ""); err == nil || !strings.Contains(err.Error(), "no JSON of iperf3") {
		t.Error(err)
	}
}

// --json-stream prints the parts of the document as events, a line each.
func TestReadEvents(t *testing.T) {
	whole := outputs(t)["iperf3/3.21-tcp.json"]
	var doc struct {
		Start, End json.RawMessage
		Intervals  []json.RawMessage
	}
	if err := json.Unmarshal(whole, &doc); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	event := func(name string, data json.RawMessage) {
		var line bytes.Buffer
		if err := json.Compact(&line, data); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "{\"event\":%q,\"data\":%s}\n", name, line.Bytes())
	}
	event("start", doc.Start)
	for _, i := range doc.Intervals {
		event("interval", i)
	}
	if _, err := Read(b.Bytes(), ""); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("without its end: %v", err)
	}
	event("end", doc.End)
	want, err := Read(whole, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Read(b.Bytes(), ""); err != nil || describe(got, nil) != describe(want, nil) {
		t.Errorf("%v\n%s\nwant\n%s", err, describe(got, nil), describe(want, nil))
	}
	if _, err := Read([]byte(`{"event":"error","data":"unable to connect to server"}`), ""); err == nil || !strings.Contains(err.Error(), "unable to connect") {
		t.Errorf("an error: %v", err)
	}
}
