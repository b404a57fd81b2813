package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

const design = `name: found
networks: [host, {use: vxlan-overlay, name: slow, also: [{in: h1, offload: {dev: eth0, features: {tx-udp_tnl-segmentation: false}}}]}, bridge]
probes: [tcp-stream, {use: udp-stream, size: 64}]
factors: {mtu: [1500, 9000], size: [18]}
precision: 2%
max-time: 1h
seed: 7
`

func designed(t *testing.T, src string) study.Study {
	t.Helper()
	s, err := study.Load([]byte(src), "study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// applies gives size to udp-stream, and conditions to every probe.
func applies(kind, factor string) bool { return factor != "size" || kind == "udp-stream" }

func statement(test finding.Test) Statement {
	return Statement{Subject: Cause, Rule: "segmentation-lost", Place: "h1 eth0", Text: "segmentation is lost at h1 eth0", Test: &test,
		Cells: []analysis.Cell{{Probe: "tcp-stream", Network: "slow", Levels: map[string]string{"mtu": "9000"}}}}
}

var switchOn = plan.Step{In: "h1", Offload: &plan.Offload{Dev: "eth0", Features: map[string]bool{"tx-udp_tnl-segmentation": true}}}

// The refuting run has the network as found and the same network with the fix, under one probe and at the
// levels of the cell.
func TestRefuting(t *testing.T) {
	s, err := Refuting(designed(t, design), statement(finding.Test{Text: "Refuted if …", Fix: []plan.Step{switchOn}, Metric: record.Throughput, Factor: 1.5}), applies)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"networks:\n  - host\n  - {use: vxlan-overlay, name: slow, also: ",
		"  - {use: vxlan-overlay, name: fixed, also: ",
		"probes:\n  - tcp-stream\nfactors:\n  mtu: [9000]\n",
		"compare:\n  - {of: {network: fixed}, to: {network: slow}, value: throughput, text: ",
		"  - {to: {network: host}}\n", "seed: 7\n", "baseline: host\n",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %q in\n%s", want, b)
		}
	}
	if strings.Contains(string(b), "precision") || strings.Contains(string(b), "max-time") {
		t.Errorf("the number of blocks is not fixed:\n%s", b)
	}
	fixed, _ := s.Network("fixed")
	steps, err := fixed.Also()
	if err != nil || len(steps) != 2 || steps[0].Offload.Features["tx-udp_tnl-segmentation"] || !steps[1].Offload.Features["tx-udp_tnl-segmentation"] {
		t.Errorf("the fix does not follow the fault: %v, %v", steps, err)
	}
}

// A test can change levels of factors, the probe or the network instead.
func TestRefutingOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		test finding.Test
		want string
	}{
		"level": {finding.Test{Levels: map[string]string{"offload": "off"}, Metric: record.Throughput, Factor: 0.8},
			"{of: {offload: off}, to: {offload: on}, in: {network: slow}, value: throughput"},
		"level of the study": {finding.Test{Levels: map[string]string{"mtu": "1500"}, Metric: record.Throughput, Factor: 0.8},
			"{of: {mtu: 1500}, to: {mtu: 9000}, in: {network: slow}, value: throughput"},
		"option": {finding.Test{Options: map[string]string{"rcvbuf": "4194304"}, Metric: record.Loss, Factor: 0.5},
			"{of: {probe: fixed}, to: {probe: tcp-stream}, in: {network: slow}, value: loss"},
	} {
		s, err := Refuting(designed(t, design), statement(c.test), applies)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.ReplaceAll(s.Compare[0].String(), `"`, ""); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	bound := statement(finding.Test{Network: "bridged", Metric: record.Throughput, Factor: 1.4, AtMost: true})
	bound.Subject, bound.Rule, bound.Cells[0].Network = Bound, "", "vxlan-overlay"
	s, err := Refuting(designed(t, "networks: [host, bridge, routed, vxlan, vxlan-overlay]\nprobes: [tcp-stream]\nfactors: {mtu: [9000]}\n"), bound, applies)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(study.Names(s.Networks), " "); got != "host bridge vxlan vxlan-overlay bridged" {
		t.Errorf("networks %s", got)
	}
	// In place of a program, a network of the kernel is measured beside the baseline alone, and once.
	for _, networks := range []string{"[host, bridge, relay]", "[vxlan-overlay, relay]"} {
		service := statement(finding.Test{Network: "vxlan-overlay", Metric: "cpu.per.packet", Factor: 0.8})
		service.Cells[0].Network = "relay"
		s, err := Refuting(designed(t, "networks: "+networks+"\nprobes: [tcp-stream]\nfactors: {mtu: [9000]}\n"), service, applies)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"[host, bridge, relay]": "host relay vxlan-overlay", "[vxlan-overlay, relay]": "vxlan-overlay relay"}[networks]
		if got := strings.Join(study.Names(s.Networks), " "); got != want {
			t.Errorf("networks %s, want %s", got, want)
		}
	}
}

func TestRefutingRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		design string
		change func(*Statement)
		want   string
	}{
		"no change":  {design, func(*Statement) {}, "changes nothing"},
		"no network": {design, func(s *Statement) { s.Cells[0].Network = "gone" }, "has no gone under tcp-stream"},
		"same level": {design, func(s *Statement) { s.Test.Levels = map[string]string{"mtu": "9000"} }, "no level of mtu other than 9000"},
		"no level":   {design, func(s *Statement) { s.Test.Levels = map[string]string{"ends": "pod-pod"} }, "no level of ends other than pod-pod"},
		"elsewhere":  {strings.Replace(design, "[host, {use", "[host] #", 1) + "target: {ssh: [a, b]}\n", func(*Statement) {}, "not its own"},
	} {
		s := statement(finding.Test{Metric: record.Throughput, Factor: 1.5})
		c.change(&s)
		if _, err := Refuting(designed(t, c.design), s, applies); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// For every factor weir knows the level that a network has without it. Nothing tests other ends.
func TestLevelsWithoutFactors(t *testing.T) {
	s := designed(t, "networks: [host]\nprobes: [tcp-stream]\n")
	for _, factor := range condition.Names() {
		if got := levelOf(s, factor, "on"); (got == "") != (factor == condition.Ends) {
			t.Errorf("%s: level %q without the factor", factor, got)
		}
	}
}

// Names of statements are names of files and of studies.
func TestID(t *testing.T) {
	s := statement(finding.Test{})
	if got := s.ID(); got != "segmentation-lost-h1-eth0-slow-tcp-stream-mtu-90" {
		t.Error(got)
	}
	s.Rule, s.Subject, s.Place = "", Sharing, ""
	if got := s.ID(); got != "sharing-slow-tcp-stream-mtu-9000" {
		t.Error(got)
	}
}

// On a machine that exists, a step needs no namespace.
func TestCommands(t *testing.T) {
	nodes, lines, err := Commands(finding.Test{Fix: []plan.Step{switchOn, {In: "h2", Set: &plan.Set{Dev: "eth0", MTU: 1500}}}})
	if err != nil || !slices.Equal(nodes, []string{"h1", "h2"}) || !slices.Equal(lines["h1"], []string{"ethtool -K eth0 tx-udp_tnl-segmentation on"}) ||
		!slices.Equal(lines["h2"], []string{"ip link set eth0 mtu 1500"}) {
		t.Errorf("%v, %v, %v", nodes, lines, err)
	}
}

// A loss that the fix removes altogether has a ratio of 0, and the finding stands. A network that no longer
// shows the finding says nothing about its cause.
func TestRead(t *testing.T) {
	var rs []record.Result
	for block := 1; block <= 8; block++ {
		for _, n := range []string{"slow", "fixed"} {
			loss := map[string]float64{"slow": 0.03 + 0.001*float64(block), "fixed": 0}[n]
			rs = append(rs, record.Result{Trial: fmt.Sprintf("b%d-%s", block, n), Block: block, Status: record.OK, Elapsed: 1, Start: time.Unix(int64(len(rs)), 0),
				Config: map[string]string{"network": n, "probe": "udp-stream"},
				Values: []record.Value{{Name: record.Throughput, Unit: "bit/s", Value: 1e9}, {Name: "loss", Unit: "1", Value: loss}}})
		}
	}
	a := analysis.New(rs, analysis.Options{Networks: []string{"slow", "fixed"},
		Contrasts: []analysis.Contrast{{Of: map[string][]string{"network": {"fixed"}}, To: map[string]string{"network": "slow"}, Value: "loss"}}})
	s := statement(finding.Test{Fix: []plan.Step{switchOn}, Metric: record.Loss, Factor: 0.5})
	s.Cells[0].Probe = "udp-stream"
	again := finding.Finding{Rule: s.Rule, Place: s.Place, Cells: []analysis.Cell{{Probe: "udp-stream", Network: "slow"}}}
	if v := Read(s, a, []finding.Finding{again}); v.Outcome != Stands || v.Ratio.Center != 0 {
		t.Errorf("%s", v)
	}
	elsewhere := again
	elsewhere.Place = "h2 eth0"
	if v := Read(s, a, []finding.Finding{elsewhere}); v.Outcome != NotReproduced || !strings.Contains(v.String(), "does not show it: not reproduced") {
		t.Errorf("%s", v)
	}
	s.Test.Metric = "gone"
	if v := Read(s, analysis.New(rs, analysis.Options{}), []finding.Finding{again}); v.Outcome != Open || !strings.Contains(v.String(), "no such ratio: open") {
		t.Errorf("%s", v)
	}
}

// TCP that a fault stops altogether in a third of the blocks, and slows in the others, has no ratio but a lower bound
// of one. A fix of something else, which stops as often, has an upper bound. Both decide, also after they are stored
// and read.
func TestReadStopped(t *testing.T) {
	for _, c := range []struct {
		factor       float64
		found, fixed func(block int) bool // stop
		want         Outcome
		least, most  float64
		says         string
	}{
		{9, func(b int) bool { return b%8 < 3 }, func(int) bool { return false }, Stands, 8, 0, "at least 8."},
		{0.8, func(b int) bool { return b%8 < 3 }, func(int) bool { return false }, Open, 0.7, 0, "at least 0.7"},
		{1, func(b int) bool { return b%4 == 0 }, func(b int) bool { return b%4 == 2 }, Refuted, 0.9, 1, "at most 1.0"},
	} {
		var rs []record.Result
		for block := 1; block <= 24; block++ {
			for _, n := range []string{"slow", "fixed"} {
				v := map[string]float64{"slow": 1e9 + 1e7*float64(block%5), "fixed": 1e9 * c.factor}[n]
				if n == "slow" && c.found(block) || n == "fixed" && c.fixed(block) {
					v = 0
				}
				rs = append(rs, record.Result{Trial: fmt.Sprintf("b%d-%s", block, n), Block: block, Status: record.OK, Elapsed: 1, Start: time.Unix(int64(len(rs)), 0),
					Config: map[string]string{"network": n, "probe": "tcp-stream"}, Values: []record.Value{{Name: record.Throughput, Unit: "bit/s", Value: v}}})
			}
		}
		a := analysis.New(rs, analysis.Options{Networks: []string{"slow", "fixed"},
			Contrasts: []analysis.Contrast{{Of: map[string][]string{"network": {"fixed"}}, To: map[string]string{"network": "slow"}, Value: "throughput"}}})
		s := statement(finding.Test{Fix: []plan.Step{switchOn}, Metric: record.Throughput, Factor: 1.5})
		s.Cells[0].Probe = "tcp-stream"
		v := Read(s, a, []finding.Finding{{Rule: s.Rule, Place: s.Place, Cells: []analysis.Cell{{Probe: "tcp-stream", Network: "slow"}}}})
		if v.Ratio.Bounded() || v.Outcome != c.want || math.Abs(v.AtLeast-c.least) > 1 || math.Abs(v.AtMost-c.most) > 0.1 || !strings.Contains(v.Say().String(), c.says) {
			t.Errorf("%g×: %s (%s; %g, %g)", c.factor, v, v.Say(), v.AtLeast, v.AtMost)
		}
		b, err := EncodeVerdicts([]Verdict{v})
		if err != nil {
			t.Fatal(err)
		}
		stored, err := ParseVerdicts(b)
		if err != nil {
			t.Fatal(err)
		}
		if again := (Premises{Verdicts: stored}).verdict(s); again == nil || again.Outcome != c.want {
			t.Errorf("%g×, judged again: %v", c.factor, again)
		}
	}
}

// A ratio of too few pairs for an interval must get more; one without a spread need not.
func TestDeciding(t *testing.T) {
	for name, c := range map[string]struct {
		ratio stat.Interval
		want  bool
	}{
		"spread":          {stat.Interval{N: 8, Center: 1, Lo: 0.9, Hi: 1.1, Confidence: 0.95, SE: 0.05, DF: 7}, true},
		"without spread":  {stat.Interval{N: 8, Confidence: 0.95}, false},
		"too few pairs":   {stat.Interval{N: 5, Center: 0.94}, true},
		"no pairs at all": {stat.Interval{}, false},
	} {
		yielded := false
		for range Deciding(&analysis.Run{Contrasts: []analysis.Contrasted{{Rows: []analysis.ContrastRow{{Ratio: c.ratio}}}}}) {
			yielded = true
		}
		if yielded != c.want {
			t.Errorf("%s: %v", name, yielded)
		}
	}
}

// A ratio decides between no change and the predicted one if its interval is narrower than the way between them.
func TestPrecision(t *testing.T) {
	for factor, want := range map[float64]float64{1.05: 0.0297, 0.5: 0.5, 0.9: 0.0653, 1.0001: 0.001} {
		if got := Precision(finding.Test{Factor: factor}); math.Abs(got-want) > 1e-3 {
			t.Errorf("%g: ±%g, want ±%g", factor, got, want)
		}
	}
}
