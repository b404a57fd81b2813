// Package agreetest compares what the engine measures over HTTP and DNS with wrk, h2load and dnsperf, at the same server and load.
package agreetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/engine"
	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/stat"
)

var (
	agree = flag.Int("agree", 0, "compare in so many `blocks`, within 5 %; needs an idle machine with two CPUs or more")
	page  = flag.String("page", "", "write what was measured to this `file`, in Markdown")
)

// isEngine makes this program the engine: its runtime and CPU are then its own.
const isEngine = "WEIR_AGREE_ENGINE"

func TestMain(m *testing.M) {
	if os.Getenv(isEngine) == "" {
		os.Exit(m.Run())
	}
	if err := engine.Main(context.Background(), os.Args[1:], nil, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), isEngine+"=1")
	return cmd
}

// start starts an engine, and returns the first line that it prints.
func start(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := command(t, args...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v: %q: %v", args, line, err)
	}
	return line
}

// serve returns the address of a server that serves HTTP and DNS, because a client asks it once a second.
func serve(t *testing.T) string {
	t.Helper()
	var ready event.Ready
	if err := json.Unmarshal(start(t, "serve", "127.0.0.1:0", "--open", "--cpu", "1"), &ready); err != nil {
		t.Fatal(err)
	}
	if line := start(t, "run", "http-rr", ready.Address, "--rate", "1", "--duration", "30m"); string(bytes.TrimSpace(line)) != event.MarkBegin {
		t.Fatalf("%q, want %q", line, event.MarkBegin)
	}
	return ready.Address
}

// A reading is what a client found: answers/s, the mean response time (s), and its own CPU time per answer (s).
type reading struct{ rate, mean, cpu float64 }

// ran runs a client for a second on CPU 0, and returns what it printed and its CPU time, s.
func ran(t *testing.T, cmd *exec.Cmd) (out []byte, cpu float64) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, &said)
	}
	return out, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
}

func ours(t *testing.T, workload, addr string, more ...string) (x reading) {
	t.Helper()
	out, cpu := ran(t, command(t, append([]string{"run", workload, addr, "--duration", "1s", "--cpu", "0"}, more...)...))
	var r event.Web
	err := event.Read(out, workload, &r)
	if err != nil {
		t.Fatal(err)
	}
	h, err := event.DecodeHist(r.Hist)
	if err != nil {
		t.Fatal(err)
	}
	return reading{float64(r.Transactions) / r.Window, h.Mean() / 1e9, cpu / float64(r.Transactions)}
}

// theirs runs another client, which prints its rate, the mean response time and the number of answers as these expressions say.
func theirs(t *testing.T, rate, mean, answers string, argv ...string) reading {
	t.Helper()
	out, cpu := ran(t, exec.CommandContext(t.Context(), "taskset", append([]string{"-c", "0"}, argv...)...))
	number := func(expression string) float64 {
		m := regexp.MustCompile(expression).FindSubmatch(out)
		if m == nil {
			t.Fatalf("%v printed no %s:\n%s", argv, expression, out)
		}
		v, err := strconv.ParseFloat(string(m[1]), 64)
		if len(m) > 2 && err == nil {
			var unit time.Duration
			unit, err = time.ParseDuration("1" + string(m[2]))
			v *= unit.Seconds()
		}
		if err != nil || v <= 0 {
			t.Fatalf("%s: %v", m[0], err)
		}
		return v
	}
	return reading{number(rate), number(mean), cpu / number(answers)}
}

// A contest compares two clients in one quantity.
type contest struct {
	name, quantity string
	of             func(reading) float64
	ours, theirs   func(t *testing.T) reading
	both           bool // within 5 % of each other; otherwise theirs is the upper bound
}

// service is what the engine's server answers over gRPC, for ghz.
const service = `syntax = "proto3";
package weir;
message Bytes { uint32 value = 1; }
message Body { bytes value = 1; }
service Bench { rpc Answer(Bytes) returns (Body); }
`

// ghz returns the contest with ghz, for which dir has service.
func ghz(addr, dir, size string) contest {
	return contest{"grpc-rr ÷ ghz", "mean response time", func(x reading) float64 { return x.mean },
		func(t *testing.T) reading { return ours(t, "grpc-rr", addr, "--size", size) },
		func(t *testing.T) reading {
			return theirs(t, `Requests/sec:\s+([0-9.]+)`, `Average:\s+([0-9.]+) ([mµn]?s)`, `Count:\s+([0-9]+)`, facts.Find("ghz"), "-c1", "--cpus=1", "-z1s",
				"--duration-stop=wait", "--skipTLS", "--proto="+filepath.Join(dir, "weir.proto"), "--call=weir.Bench/Answer", "--data={\"value\":"+size+"}", addr)
		}, false}
}

func contests(addr, dir string) []contest {
	const size = "1024"
	queries := filepath.Join(dir, "queries")
	host, port, _ := strings.Cut(addr, ":")
	rate := func(x reading) float64 { return x.rate }
	all := []contest{
		{"http-rr ÷ wrk", "answers/s", rate,
			func(t *testing.T) reading { return ours(t, "http-rr", addr, "--size", size) },
			func(t *testing.T) reading {
				return theirs(t, `Requests/sec: +([0-9.]+)`, `Latency +([0-9.]+)([mu]?s)`, `([0-9]+) requests in`, "wrk", "-t1", "-c1", "-d1s", "http://"+addr+"/"+size)
			}, true},
		{"h2-rr ÷ h2load", "answers/s", rate,
			func(t *testing.T) reading { return ours(t, "h2-rr", addr, "--size", size) },
			func(t *testing.T) reading {
				return theirs(t, `, ([0-9.]+) req/s`, `time for request: +\S+ +\S+ +([0-9.]+)([mu]?s)`, `([0-9]+) succeeded`, "h2load", "-t1", "-c1", "-m1", "-D1", "https://"+addr+"/"+size)
			}, true},
		{"dns-rr ÷ dnsperf", "mean response time", func(x reading) float64 { return x.mean },
			func(t *testing.T) reading { return ours(t, "dns-rr", addr, "--rate", "2000") },
			func(t *testing.T) reading {
				return theirs(t, `Queries per second: +([0-9.]+)`, `Average Latency \(s\): +([0-9.]+)`, `Queries completed: +([0-9]+)`, "dnsperf", "-s", host, "-p", port, "-c1", "-T1", "-Q2000", "-l1", "-d", queries)
			}, false},
	}
	if *agree > 0 { // tests do without the minute that building ghz takes
		all = append(all, ghz(addr, dir, size))
	}
	return all
}

// With one request in flight, the engine finds the rate that wrk and h2load find at the same server, within 5 %. With more, the
// engine's threads and the one thread of these tools share the CPU in different ways, and the rate is not the server's.
//
// dnsperf sends and receives on two threads, which wake each other: with one query in flight that is most of its time. So
// it is compared at a rate, and its response times are longer. Those of ghz are, too: it passes each call between goroutines of grpc-go.
func TestAgree(t *testing.T) {
	blocks, within := *agree, 0.05
	if blocks == 0 { // that all of them measure the same thing, in the same unit, is shown on any machine: a busy CPU makes a factor of 5
		blocks, within = 3, 9
	}
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, program := range []string{"wrk", "h2load", "dnsperf", "taskset"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	addr, dir := serve(t), t.TempDir()
	for name, text := range map[string]string{"queries": "weir.test A\n", "weir.proto": service} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var rows []string
	for _, c := range contests(addr, dir) {
		t.Run(c.name, func(t *testing.T) {
			fail := nstest.Judge(t)
			var a, b []reading
			for i := range blocks {
				if i%2 == 0 {
					a = append(a, c.ours(t))
				}
				b = append(b, c.theirs(t))
				if i%2 == 1 {
					a = append(a, c.ours(t))
				}
			}
			ratio, cpu := stat.Ratio(each(b, c.of), each(a, c.of), 0.95), stat.Ratio(each(b, cpuOf), each(a, cpuOf), 0.95)
			apart := ratio.Center > 1+within || c.both && ratio.Center < 1/(1+within)
			agrees := map[bool]string{false: "yes", true: "no"}[apart]
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s | %.1f µs | %.1f µs |", c.name, c.quantity, interval(ratio), agrees, interval(cpu),
				1e6*stat.Middle(each(a, cpuOf)), 1e6*stat.Middle(each(b, cpuOf))))
			t.Log(rows[len(rows)-1])
			if apart {
				fail("%s: %s is %s times theirs, want a median within %.0f %%", c.name, c.quantity, interval(ratio), 100*within)
			}
		})
	}
	if *page != "" {
		write(t, rows)
	}
}

func cpuOf(x reading) float64 { return x.cpu }

func each(all []reading, of func(reading) float64) (vs []float64) {
	for _, x := range all {
		vs = append(vs, of(x))
	}
	return vs
}

func interval(i stat.Interval) string {
	if !i.Bounded() {
		return fmt.Sprintf("%.3f (too few pairs for an interval)", i.Center)
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f]", i.Center, i.Lo, i.Hi)
}

// write writes the page, with the machine that measured.
func write(t *testing.T, rows []string) {
	t.Helper()
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	model := "unknown CPU"
	if m := regexp.MustCompile(`(?m)^model name\s*: (.*)$`).FindSubmatch(cpu); m != nil {
		model = string(m[1])
	}
	text := fmt.Sprintf(`# The engine beside wrk, h2load, ghz and dnsperf

`+"`make agreement`"+` wrote this page on %s: %s, %d CPUs, Linux %s. Each row is of %d pairs of a second each, in alternating order, with one
request in flight: the server is weir's on one CPU, the client on another. Intervals hold at 95 %%. CPU time is all that the client's
process used, its start included, per answer. Answers/s agree within 5 %%.

| | quantity | ratio | agrees | ratio of CPU time | CPU time, engine | CPU time, the other |
|---|---|---|---|---|---|---|
%s

With one request in flight, the CPU time of the client is part of each response time: a client that costs more finds a slower server. The ratio
of two networks divides it away only in part; do not compare the values of different clients.

dnsperf sends and receives on two threads, which wake each other; with one query in flight that is most of its response time. So it is
compared at 2000 queries/s, where the engine agrees if its response time is not over 5 %% longer. The same bound applies to ghz, which passes
each call between goroutines of grpc-go.
`, time.Now().UTC().Format(time.DateOnly), model, runtime.NumCPU(), bytes.TrimSpace(kernel), *agree, strings.Join(rows, "\n"))
	if err := os.WriteFile(*page, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
