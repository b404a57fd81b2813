package experiment

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

func loadConfig(t *testing.T, factors map[string][]string) Config {
	t.Helper()
	s := labStudy(1)
	s.Factors = factors
	s.Duration = 250 * time.Millisecond // longer than a retransmission timeout
	c := labConfig(t, s, results(t, filepath.Join(t.TempDir(), "out")), topo.Spec{})
	c.Load = func(name string) (probe.Probe, error) {
		return map[string]probe.Probe{
			"tcp-stream": &probe.TCPStream{CC: "reno"}, "udp-stream": &probe.UDPStream{}, "udp-rate": &probe.UDPRate{},
			"tcp-rr": &probe.TCPRR{CC: "reno"}, "tcp-crr": &probe.TCPCRR{CC: "reno"}, "udp-rr": &probe.UDPRR{}, "udp-open": &probe.UDPOpen{},
		}[name], nil
	}
	return c
}

// Every load delivers and every stress uses CPU time while another probe measures.
func TestBesideInTheLab(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	var rs []record.Result
	for _, factors := range []map[string][]string{
		{"load": {"idle", "tcp-stream", "tcp-stream@50%", "udp-stream@10%", "udp-rate", "tcp-rr", "tcp-crr", "udp-rr", "udp-open"}, "stress": {"50%"}},
		{"load": {"idle"}, "stress": {"0", "split-50%"}},
	} {
		more, err := measured(t.Context(), loadConfig(t, factors))
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, more...)
	}
	if len(rs) != 2*(9+2) {
		t.Errorf("%d results", len(rs))
	}
	for _, r := range rs {
		if r.Status != record.OK {
			t.Errorf("%s is %s: %s", r.Trial, r.Status, r.Reason)
			continue
		}
		delivered, loaded := r.Get("load.delivered")
		if loaded != (r.Config["load"] != "idle") || loaded && delivered.Value <= 0 {
			t.Errorf("%s: %+v was delivered", r.Trial, delivered)
		}
		asked, paced := r.Get("load.asked")
		if paced != strings.Contains(r.Config["load"], "@") || paced && asked.Unit != delivered.Unit {
			t.Errorf("%s: asked for %+v, delivered %+v", r.Trial, asked, delivered)
		}
		// The share of a datagram load refers to what the path carries without loss.
		capacity, _ := r.Get("load.capacity")
		share := map[string]float64{"tcp-stream@50%": 0.5, "udp-stream@10%": 0.1}[r.Config["load"]]
		of := map[string]string{"tcp-stream@50%": "flat out", "udp-stream@10%": "PDR 0.5%"}[r.Config["load"]]
		if record.LoadShare.Of(r.Observed) != of || asked.Value != share*capacity.Value || asked.Unit != capacity.Unit {
			t.Errorf("%s: asked for %+v of %+v, %q", r.Trial, asked, capacity, record.LoadShare.Of(r.Observed))
		}
		if taken, stressed := r.Get("stress.taken"); stressed != (r.Config["stress"] != "0") || taken.Value > 1.01 {
			t.Errorf("%s: %+v was taken", r.Trial, taken)
		}
	}
}

// Stress counts as the run's CPU time, not as disturbance by other programs.
func TestStressIsOfTheRun(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	c := loadConfig(t, map[string][]string{"stress": {"100%"}})
	c.Probe = func(string, map[string]string) (probe.Probe, error) { return &probe.Ping{}, nil } // uses almost no CPU itself
	rs, err := measured(t.Context(), c)
	if err != nil || len(rs) != 2 {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	for _, r := range rs {
		b, err := c.Dir.ReadFile("raw/" + r.Trial + "/counters.json")
		if err != nil {
			t.Fatal(err)
		}
		var read struct {
			First, Last struct {
				Hosts map[string]struct{ Counters map[string]float64 }
			}
		}
		if err := json.Unmarshal(b, &read); err != nil {
			t.Fatal(err)
		}
		ours := 0.0
		for _, mode := range []string{"proc.user", "proc.system"} {
			for host := range read.Last.Hosts { // there is one
				ours += read.Last.Hosts[host].Counters[mode] - read.First.Hosts[host].Counters[mode]
			}
		}
		taken, _ := r.Get("stress.taken")
		hogs := taken.Value * float64(runtime.NumCPU()) * c.Study.Duration.Seconds()
		const ticks = 0.03 // s: user and system time are whole ticks at both ends
		if r.Status != record.OK || taken.Value == 0 || ours < hogs-ticks {
			t.Errorf("%s is %s: %s: the hog used %.3f s, all processes of the run %.3f s", r.Trial, r.Status, r.Reason, hogs, ours)
		}
	}
}

// Killing a load during a trial invalidates the trial. No other test runs a load at this time.
func TestLoadDiesInTheLab(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	c := loadConfig(t, map[string][]string{"load": {"tcp-stream"}})
	w := &watch{atClientsStart: func() { kill(t, "run", "tcp-stream") }}
	c.Target = w
	rs, err := measured(t.Context(), c)
	if err != nil || len(rs) != 2 {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	for _, r := range rs {
		const want = "signal: killed: it did not run to the end of the trial"
		if r.Status != record.Invalid || !strings.HasPrefix(r.Reason, "load tcp-stream: ") || !strings.Contains(r.Reason, want) {
			t.Errorf("%s is %s: %s", r.Trial, r.Status, r.Reason)
		}
	}
}

// An engine that ends between two trials is told, and costs no further trial. No other test runs engines at this time.
func TestEngineDiesBetweenTrials(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, engine := range []string{"agent", "serve"} {
		c := loadConfig(t, nil)
		c.Study.Blocks = 4
		killed, told := 0, ""
		c.Progress = func(e Event) {
			if e.Result != nil && killed == 0 {
				killed = killAll(t, engine)
			}
			told += e.Warning
		}
		rs, err := measured(t.Context(), c)
		if err != nil || len(rs) < 4 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		// The trial after it can begin before this process knows of the end.
		if n := counts(rs)[record.Failed]; killed == 0 || n > killed {
			t.Errorf("%s: %d killed, and %d of %d trials failed: %s", engine, killed, n, len(rs), rs[len(rs)-1].Reason)
		}
		if n := counts(rs)[record.Failed]; n == 0 && !strings.Contains(told, "signal: killed") {
			t.Errorf("%s: nobody says so: %q", engine, told)
		}
	}
}

// kill ends the engine in this PID namespace whose command begins with words.
func kill(t *testing.T, words ...string) {
	t.Helper()
	if killed := killAll(t, words...); killed != 1 {
		t.Errorf("%d processes are %q, want one", killed, words)
	}
}

// killAll ends the engines in this PID namespace whose command begins with words.
func killAll(t *testing.T, words ...string) (killed int) {
	t.Helper()
	command := "weir\x00engine\x00" + strings.Join(words, "\x00") + "\x00"
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || !bytes.HasPrefix(b, []byte(command)) {
			continue // it has ended, or does not match
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Error(err)
		}
		killed++
	}
	return killed
}
