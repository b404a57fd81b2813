package explain

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/costmodel"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A model is what packets cost on a synthetic network.
type model struct {
	pass, kib float64 // s of CPU time per datagram and per KiB of TCP
	tcpSize   float64 // bytes per packet on the first device
}

var models = map[string]model{
	"host":          {3.1e-6, 0.157e-6, 43_800},
	"bridge":        {4.25e-6, 0.17e-6, 43_800},
	"vxlan":         {4.67e-6, 0.21e-6, 43_800},
	"vxlan-overlay": {6.85e-6, 0.24e-6, 43_800},
	"macvlan":       {3.1e-6, 0.157e-6, 43_800},
	"lost":          {6.85e-6, 1.27e-6, 43_800},
	"bridged":       {5.2e-6, 0.19e-6, 43_800},
}

// built makes a run of networks whose sender is the limit, the first of them the baseline.
func built(networks ...string) ([]record.Result, analysis.Options) {
	o := analysis.Options{Baseline: networks[0], Networks: networks, Probes: []string{"tcp-stream", "udp-stream"}, Evidence: map[string]*evidence.Trial{}}
	rnd := rand.New(rand.NewPCG(7, 1))
	var rs []record.Result
	for block := 1; block <= 12; block++ {
		drift := 1 + 0.05*math.Sin(float64(block))
		for _, n := range networks {
			for _, probe := range o.Probes {
				m := models[n]
				cost := m.pass // of 1400 bytes
				if probe == "tcp-stream" {
					cost = m.kib / 1024 * 1400
				}
				cost *= drift * math.Exp(0.01*rnd.NormFloat64())
				r := record.Result{Format: record.Format, Trial: fmt.Sprintf("b%03d-%s-%s", block, n, probe), Block: block, Status: record.OK, Elapsed: 1,
					Start: time.Unix(int64(len(rs)), 0), Config: map[string]string{"network": n, "probe": probe},
					Observed: map[string]string{"tool": "weir engine", "size": "1400", "send": "single", "recv": "single", "streams": "1"}}
				add := func(q record.Quantity, unit string, v float64) { r.Values = append(r.Values, q.Whole().Value(unit, v)) }
				add(record.Throughput, "bit/s", 8*1400/cost)
				r.Values = append(r.Values, record.CPUOwn.At("client").Value("core", 1), record.CPUOwn.At("server").Value("core", 0.4))
				e := &evidence.Trial{Format: evidence.Format, Protocol: "udp", Seconds: 1, Sender: evidence.End{Host: "m"}, Receiver: evidence.End{Host: "m"},
					Hosts: map[string]sample.Counters{"m": {"softirq.cpu0.net_rx": 9000, "softirq.cpu1.net_rx": float64(rnd.IntN(90)), "cpu0.idle": 0.004, "cpu1.idle": 0.6}}, Path: []evidence.Hop{{In: "h1p1", Dev: "eth0", Out: true, Data: evidence.Flow{Packets: 1000, Bytes: 1000 * 1442}}}}
				if probe == "tcp-stream" {
					r.Observed["size"], r.Observed["mss"] = "131072", "1448"
					add(record.CPUOwnPerBit, "s/bit", 1.4*cost/1400/8)
					e.Protocol, e.Path[0].Data.Bytes = "tcp", 1000*m.tcpSize*math.Exp(0.02*rnd.NormFloat64())
				} else {
					add(record.Sent, "packet/s", 1/cost)
					add(record.Delivered, "packet/s", 1/cost)
					add(record.CPUOwnPerPacket, "s/packet", 1.4*cost)
				}
				o.Evidence[r.Trial] = e
				rs = append(rs, r)
			}
		}
	}
	return rs, o
}

func run(rs []record.Result, o analysis.Options, findings ...finding.Finding) Premises {
	a := analysis.New(rs, o)
	short := map[string]string{"tcp-stream": "TCP", "udp-stream": "UDP"}
	return Premises{Run: a, Findings: findings, Short: func(probe string) string { return short[probe] },
		Models: costmodel.Fit(a), Bounds: costmodel.WhatIf(a), Hooks: costmodel.Hooks(a)}
}

func cellsOf(network string, probes ...string) (out []analysis.Cell) {
	for _, p := range probes {
		out = append(out, analysis.Cell{Probe: p, Network: network})
	}
	return out
}

// one returns an estimate of share with its interval, as a finding has it.
func one(name lang.Text, unit string, lo, hi float64) *finding.Number {
	return &finding.Number{Name: name, Unit: unit, Value: stat.Interval{Center: (lo + hi) / 2, Lo: lo, Hi: hi, Confidence: 0.95, N: 12}}
}

// full is the finding about a sender without time to spare.
func full(network string) finding.Finding {
	return finding.Finding{Rule: "full-thread", Severity: finding.Note, Cells: cellsOf(network, "tcp-stream", "udp-stream"), Place: "h1p1",
		Shared: network != "host", Subject: lang.T("%s in %s", lang.T("engine client"), "h1p1"),
		Text:     lang.T("%s: that thread is the limit", lang.T("%s at %s", lang.T("%s in %s", lang.T("engine client"), "h1p1"), lang.T("%.0f %% of a CPU", 99.0)+" [98, 100]")),
		Evidence: []lang.Text{lang.T("%s in %s: median of %d blocks", "weir-engine-agent", "h1p1", 12)}, Remedy: "spread the load over several flows",
		Number: one("busy", "1", 0.98, 1)}
}

func lost() finding.Finding {
	return finding.Finding{Rule: "segmentation-lost", Severity: finding.Warning, Cells: cellsOf("lost", "tcp-stream"), Place: "h1 eth0",
		Text: lang.T("segmentation is lost at %s %s: %s B per packet on %s, %s B on %s, %s times as many packets",
			"h1", "eth0", "48,880", "vx0", "1,512", "eth0", "32"),
		Number: one("packets", "1", 30, 34), Evidence: []lang.Text{"tx-udp_tnl-segmentation is off there"},
		Test: &finding.Test{Text: "Refuted if switching it on does not give TCP at least 1.5× its throughput", Fix: []plan.Step{switchOn}, Metric: record.Throughput, Factor: 1.5}}
}

func text(x Explanation, l *lang.Language) []byte {
	var b bytes.Buffer
	for _, n := range x.Networks {
		fmt.Fprintf(&b, "%s\n", n.Name)
		for _, s := range n.Statements {
			fmt.Fprintf(&b, "  %s\n", s.Say().In(l))
			for _, e := range s.Evidence {
				fmt.Fprintf(&b, "      %s\n", e.In(l))
			}
		}
		for _, s := range n.More {
			fmt.Fprintf(&b, "  more: %s\n", s.Say().In(l))
		}
	}
	for _, m := range x.Missing {
		fmt.Fprintf(&b, "missing: %s\n", m.In(l))
	}
	return b.Bytes()
}

func TestTexts(t *testing.T) {
	stands := Verdict{Subject: Cause, Rule: "segmentation-lost", Place: "h1 eth0", Cell: cellsOf("lost", "tcp-stream")[0], Test: *lost().Test,
		Ratio: stat.Interval{Center: 4.9, Lo: 4.5, Hi: 5.3, Confidence: 0.95, N: 8}, Outcome: Stands, Dir: "tests/x"}
	for name, make := range map[string]func() Premises{
		"healthy": func() Premises { rs, o := built("host", "macvlan"); return run(rs, o, full("host"), full("macvlan")) },
		"segmentation": func() Premises {
			rs, o := built("host", "lost")
			r := run(rs, o, full("host"), lost(), full("lost"))
			r.Verdicts = []Verdict{stands}
			return r
		},
		"what-if": func() Premises {
			rs, o := built("host", "bridge", "vxlan", "vxlan-overlay")
			return run(rs, o, full("host"), full("bridge"), full("vxlan"), full("vxlan-overlay"))
		},
		"what-if-tested": func() Premises {
			rs, o := built("host", "bridge", "vxlan", "vxlan-overlay", "bridged")
			return run(rs, o)
		},
		"old": func() Premises {
			rs, o := built("host", "vxlan-overlay")
			o.Evidence = nil
			return run(rs, o, full("vxlan-overlay"))
		},
		"imported": func() Premises {
			rs, o := built("host", "vxlan-overlay")
			o.Evidence, o.Unpaired = nil, true
			return run(rs, o)
		},
		"tools": func() Premises {
			rs, o := built("host", "vxlan-overlay")
			for i := range rs { // of foreign tools, no clock is known
				rs[i].Values, rs[i].Observed["tool"] = rs[i].Values[:1], "iperf 3.12"
			}
			return run(rs, o)
		},
		"few-blocks": func() Premises { rs, o := built("host", "vxlan-overlay"); return run(rs[:8], o) },
	} {
		t.Run(name, func(t *testing.T) {
			for file, l := range map[string]*lang.Language{name + ".txt": nil, name + ".zh.txt": lang.Chinese} {
				golden(t, filepath.Join("testdata", file), text(New(make()), l))
			}
		})
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s; look at it, then run the test with -update:\n%s", file, got)
	}
}

// A network has at most six lines, whatever was found; the others are not lost.
func TestAtMostSixLines(t *testing.T) {
	rs, o := built("host", "vxlan-overlay")
	var findings []finding.Finding
	for i := range 8 {
		f := full("vxlan-overlay")
		f.Rule, f.Shared = fmt.Sprint("rule-", i), false
		findings = append(findings, f)
	}
	n := New(run(rs, o, findings...)).Networks[1]
	if len(n.Statements) != most || len(n.More) < 3 || n.Statements[0].Rule != "rule-0" {
		t.Errorf("%d lines and %d more: %+v", len(n.Statements), len(n.More), n)
	}
}

// Findings of one rule at one place are one statement, with a clause for each text that names its probes unless they are
// all.
func TestMerged(t *testing.T) {
	rs, o := built("host", "lost")
	a, b := lost(), lost()
	b.Cells = cellsOf("lost", "udp-stream")
	b.Text, b.Test = "another text", nil
	r := run(rs, o, a)
	if s, _ := r.causes("lost"); len(s) != 1 || !strings.HasSuffix(s[0].Text.String(), "packets (TCP)") {
		t.Errorf("alone: %+v", s)
	}
	r.Findings = append(r.Findings, b, full("host"))
	if s, _ := r.causes("lost"); len(s) != 1 || len(s[0].Cells) != 2 || !strings.HasSuffix(s[0].Text.String(), "packets (TCP); another text (UDP)") || s[0].Evidence[1].String() != "udp-stream: another text" {
		t.Errorf("merged: %+v", s)
	}
	x := New(r)
	if !x.Says(a, a.Cells[0]) || !x.Says(b, b.Cells[0]) || x.Says(full("lost"), a.Cells[0]) {
		t.Error("the explanation does not know what it says")
	}
	r.Verdicts = []Verdict{{Subject: Hypothesis, Cell: a.Cells[0], Text: "mine", Test: *lost().Test, Outcome: Open}}
	x = New(r)
	if tests := x.Tests(); len(tests) != 2 || tests[0].Subject != Sharing || tests[1].Rule != a.Rule {
		t.Errorf("tests: %+v", tests)
	}
}

// On a machine whose CPUs others use, a bound is judged by work per CPU time, and the sentence says that
// number.
func TestVerdictIsOnTheNumberStated(t *testing.T) {
	rs, o := built("host", "bridge", "vxlan", "vxlan-overlay", "bridged")
	for i := range rs {
		e := o.Evidence[rs[i].Trial]
		e.Window, e.Sender.CPU, e.Sender.Wait = 1, 0.6, 0.39
		for j := range rs[i].Values {
			v := &rs[i].Values[j]
			if v.Key() == record.CPUOwn.At("client") {
				v.Value *= 0.6
			}
			if rs[i].Config["network"] == "bridged" && !v.Name.In(record.CPUOwnPerBit, record.CPUOwnPerPacket) {
				v.Value /= 2 // it had half of the time, so less arrived
			}
		}
	}
	r := run(rs, o)
	said := r.bounds("vxlan-overlay")[0].Text.String()
	for _, b := range r.whatIfs("vxlan-overlay") {
		gain, delivered := b.Gained()
		if delivered || b.Verdict != costmodel.Stands || !strings.Contains(said, prose.Times(gain)+" in work per CPU time") {
			t.Errorf("%s: judged %v, %s; the sentence: %s", b.Probe, gain, b.Verdict, said)
		}
	}
}

// What bridge-nf costs is part of the cost with bridge-nf, and of no other.
func TestHookOfItsCell(t *testing.T) {
	rs, o := built("host", "bridge", "vxlan", "vxlan-overlay")
	r := run(rs, o)
	hook := costmodel.Hook{Cell: cellsOf("vxlan-overlay", "udp-stream")[0], Unit: "s/packet", Extra: stat.Interval{Center: 1e-6, Lo: 0.9e-6, Hi: 1.1e-6, Confidence: 0.95, N: 12}}
	for _, levels := range []map[string]string{nil, {"bridge-nf": "on"}} {
		hook.Levels = levels
		r.Hooks = []costmodel.Hook{hook}
		if said := strings.Contains(r.parts("vxlan-overlay")[0].Text.String(), "bridge-nf"); said != (levels == nil) {
			t.Errorf("a hook with levels %v in a cell without any: said %v", levels, said)
		}
	}
}
