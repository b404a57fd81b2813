package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// planted is the share of datagrams and echo requests that h2 drops. Shorter datagrams pass, because some
// tools begin with one and never repeat it.
const planted = 0.03

const drops = "add table inet t; add chain inet t in { type filter hook input priority 0; }; " +
	"add rule inet t in udp length >= 60 numgen random mod 1000 < 30 drop; add rule inet t in icmp type echo-request numgen random mod 1000 < 30 drop"

// lossy is a lab whose h2 has a packet filter.
type lossy struct{}

func (lossy) Open(ctx context.Context, want topo.Topology, logs string) (*target.Site, error) {
	site, err := lab.Target{}.Open(ctx, want, logs)
	if err != nil {
		return nil, err
	}
	for name, n := range site.Nodes {
		if name != "h2" {
			continue
		}
		if err := n.Run(ctx, target.Cmd{Argv: []string{"nft", drops}}); err != nil {
			return nil, errors.Join(err, site.Close())
		}
	}
	return site, nil
}

// Every probe that reports loss reports the share that the path loses, in windows shorter than the time
// after which a reply counts as lost.
func TestPlantedLoss(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	if out, err := exec.Command("nft", drops+"; delete table inet t").CombinedOutput(); err != nil {
		t.Skipf("no packet filter can drop packets at random: nft: %v: %s", err, out)
	}
	probes := map[string]probe.Probe{
		"udp-rr": probe.UDPRR{}, "udp-rr-4": probe.UDPRR{Inflight: 4}, "udp-open": probe.UDPOpen{Rate: 10000},
		"udp-stream": probe.UDPStream{Size: 1000, Rate: 8e7}, "ping": probe.Ping{Interval: time.Millisecond},
	}
	// Other tools for streams have small buffers, which overflow on a busy machine; their counts are recorded.
	if _, err := exec.LookPath("fping"); err == nil {
		probes["fping"] = probe.Fping{Interval: time.Millisecond}
	}
	fail := nstest.Judge(t)
	wrong := lostBy(t, probes)
	if len(wrong) > 0 { // a busy machine that stops for a whole window loses all of its packets, hardly twice
		t.Logf("measuring again: %v", wrong)
		maps.DeleteFunc(probes, func(name string, _ probe.Probe) bool { return wrong[name] == "" })
		wrong = lostBy(t, probes)
	}
	for name, why := range wrong {
		fail("%s: %s", name, why)
	}
}

// lostBy measures what probes lose on the lossy path, and returns those that do not report the planted loss.
func lostBy(t *testing.T, probes map[string]probe.Probe) (wrong map[string]string) {
	t.Helper()
	s := study.Default()
	s.Name, s.Blocks, s.Seed, s.Warmup, s.Duration = "loss", 6, 7, 20*time.Millisecond, 200*time.Millisecond
	s.Networks, s.Probes = []study.Use{{Kind: "host"}}, nil
	for name := range probes {
		s.Probes = append(s.Probes, study.Use{Kind: name})
	}
	s = s.Resolve()
	rs, err := measured(t.Context(), Config{
		Study: s, Dir: results(t, filepath.Join(t.TempDir(), "out")), Target: lossy{},
		Networks: map[string]Network{"host": on(t, network.Host{}, topo.Spec{})},
		Probe:    func(kind string, _ map[string]string) (probe.Probe, error) { return probes[kind], nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	wrong = map[string]string{}
	for _, table := range analysis.New(rs, analysis.Options{KeepDisturbed: true}).Tables {
		row := table.Rows[0]
		var losses []float64
		sent := 0.0
		for _, r := range rs {
			if r.Config[analysis.Probe] == table.Probe && r.Status == record.OK {
				sent += asked(r)
				if loss, ok := r.Get("loss"); ok {
					losses = append(losses, loss.Value)
				}
			}
		}
		// A busy machine that stops for a window loses most of that trial's packets. The median trial does
		// not show it. Its standard error is 1.25 times the mean's; of independent packets, fewer than one
		// run in ten million is 5.5 of them off.
		far := 0.005 + 5.5*1.25*math.Sqrt(planted*(1-planted)/sent)
		slices.Sort(losses)
		median := math.NaN()
		if n := len(losses); n > 0 {
			median = (losses[(n-1)/2] + losses[n/2]) / 2
		}
		loss, ok := row.Loss()
		says := fmt.Sprintf("lost %.4f of %.0f, [%.4f, %.4f], median trial %.4f", loss, sent, row.Lost.Lo, row.Lost.Hi, median)
		t.Log(table.Probe, says)
		if !ok || sent < 500 || len(losses) < 4 || math.Abs(median-planted) > far {
			wrong[table.Probe] = fmt.Sprintf("%s; %d of %d trials are ok; %s", says, row.OK, row.Trials(), row.Points[0].Reason)
		}
	}
	return wrong
}

// asked returns how many packets or requests a trial sent.
func asked(r record.Result) float64 {
	if n, ok := r.Get("requests"); ok {
		return n.Value
	}
	sent, _ := r.Get("sent")
	window, _ := r.Get("window")
	return sent.Value * window.Value
}
