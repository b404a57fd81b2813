package job

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

// manyTrials makes the directory of a run of so many trials, from those of the fixture of package report, each with
// what a trial of 2 s observes and samples on a machine with 2 CPUs.
func manyTrials(t testing.TB, trials int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "many")
	b, err := os.ReadFile("../report/testdata/results.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []*record.Result
	for r, err := range record.All(bytes.NewReader(b), "fixture") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	const steps, evidence = 20, `{"format":1,"protocol":"tcp","seconds":1,"window":1,"sender":{"node":"h1p1","host":"2bf61b1a","cpus":[0],"cpu":0.4},"receiver":{"node":"h1p2","host":"2bf61b1a","cpus":[1],"cpu":0.3},` +
		`"path":[{"in":"h1p1","dev":"eth0","out":true,"data":{"packets":14017,"bytes":668472064},"back":{"packets":4511,"bytes":298534}},{"in":"h1p2","dev":"eth0","data":{"packets":14017,"bytes":668472064},"back":{"packets":4511,"bytes":298534}}],` +
		`"nodes":{"h1p1":{"ip.InDelivers":4511,"ip.OutRequests":14017},"h1p2":{"ip.InDelivers":14017,"ip.OutRequests":4511}}}`
	column := func(v int) (c []int) {
		for i := range steps {
			c = append(c, v+i)
		}
		return c
	}
	s := sample.Series{Format: sample.SeriesFormat, Host: "2bf61b1a-a92f-48b1-89a0-c5f36141391f", Begin: 1e7, End: 201e7, At: []int64{0}, CPUs: 2}
	for i := range steps {
		s.At = append(s.At, int64(i+1)*13e7)
	}
	for i := range 8 {
		s.Modes = append(s.Modes, sample.Mode{CPU: fmt.Sprintf("cpu%d", i/4), Mode: []string{"nice", "softirq", "system", "user"}[i%4], Ticks: column(i)})
	}
	for i := range 15 {
		s.Threads = append(s.Threads, sample.Thread{PID: 40, TID: 256 + i, Place: "h1p1", Name: "weir-engine-agent", Used: column(1000 * i)})
	}
	for i := range 4 {
		s.Devices = append(s.Devices, sample.Device{End: "client", Place: "h1p1", Dev: "eth0", Dir: []string{"rx", "tx"}[i%2], Bytes: column(1e8), Packets: column(1e4)})
	}
	inside, err := sample.FormatSeries([]sample.Series{s})
	if err != nil {
		t.Fatal(err)
	}
	var results bytes.Buffer
	for i := range trials {
		r, again := *all[i%len(all)], i/len(all)
		r.Trial, r.Block, r.Start = fmt.Sprintf("%05d-%s", again, r.Trial), r.Block+12*again, r.Start.Add(time.Duration(again)*time.Hour)
		if err := record.Write(&results, &r); err != nil {
			t.Fatal(err)
		}
		raw := filepath.Join(dir, "raw", r.Trial)
		if err := os.MkdirAll(raw, 0o777); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(raw, store.InsideFile), inside)
		put(t, filepath.Join(raw, store.EvidenceFile), []byte(evidence))
	}
	put(t, filepath.Join(dir, "results.jsonl"), results.Bytes())
	put(t, filepath.Join(dir, "study.yaml"), []byte("networks: [host, bridge, vxlan-overlay]\nprobes: [tcp-stream, udp-stream, udp-rate, udp-rr]\n"))
	return dir
}

func put(t testing.TB, file string, b []byte) {
	t.Helper()
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// Only the report of one run shows the inside of its trials, and only that reads it.
func TestLoadInside(t *testing.T) {
	dir := manyTrials(t, 288)
	text := func(load func(string, bool) (*account.Account, error)) string {
		t.Helper()
		rep, err := load(dir, false)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := render.HTML(&b, section.Report(rep)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const title = "over-time"
	if whole, without := text(LoadInside), text(Load); !strings.Contains(whole, title) || strings.Contains(without, title) {
		t.Errorf("%q is on the page: %v; without the inside: %v", title, strings.Contains(whole, title), strings.Contains(without, title))
	}
}

// BenchmarkLoad measures how a run of 10,000 trials is read, and reports the memory that it then holds.
func BenchmarkLoad(b *testing.B) {
	dir := manyTrials(b, 10_000)
	for name, load := range map[string]func(string, bool) (*account.Account, error){"inside": LoadInside, "without": Load} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var rep *account.Account
			for b.Loop() {
				var err error
				if rep, err = load(dir, false); err != nil {
					b.Fatal(err)
				}
			}
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB-live")
			runtime.KeepAlive(rep)
		})
	}
}
