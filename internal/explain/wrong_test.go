package explain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/record"
)

// A world is what a refuting run measures: the baseline, the network as found, both with the change (a step changes the
// network alone), each as rate, Gbit/s, loss and CPU time per bit, ns.
type world struct{ clean, found, cleanFixed, fixed [3]float64 }

// trials are those of a refuting run in which a change is a step or an option; noise is the relative spread of values.
func (w world) trials(option bool, noise float64) (rs []record.Result) {
	rnd := rand.New(rand.NewPCG(1, 2))
	cells := []struct {
		network, probe string
		v              [3]float64
	}{{"clean", "p", w.clean}, {"slow", "p", w.found}, {"fixed", "p", w.fixed}}
	if option {
		cells[2].network, cells[2].probe = "slow", "fixed"
		cells = append(cells, cells[2])
		cells[3].network, cells[3].v = "clean", w.cleanFixed
	}
	for block := 1; block <= 10; block++ {
		for i, c := range cells {
			x := func(j int) float64 { return c.v[j] * math.Exp(noise*rnd.NormFloat64()) }
			r := record.Result{Trial: fmt.Sprintf("b%d-%d", block, i), Block: block, Status: record.OK, Elapsed: 1, Start: time.Unix(int64(len(rs)), 0), Config: map[string]string{"network": c.network, "probe": c.probe},
				Values: []record.Value{{Name: record.Throughput, Unit: "bit/s", Value: 1e9 * x(0)}, {Name: record.Loss, Unit: "1", Value: min(1, x(1))}, {Name: record.CPUOwnPerBit, Unit: "s/bit", Value: 1e-9 * x(2)}}}
			if c.v[0] < 0 {
				r.Status, r.Reason, r.Values = record.Failed, "no packet came back", nil
			}
			rs = append(rs, r)
		}
	}
	return rs
}

func (w world) judge(test finding.Test, noise float64) Verdict {
	option := len(test.Options) > 0
	to, of := map[string]string{"network": "slow"}, map[string][]string{"network": {"fixed"}}
	var in map[string][]string
	if option {
		to, of, in = map[string]string{"probe": "p"}, map[string][]string{"probe": {"fixed"}}, map[string][]string{"network": {"slow"}}
	}
	run := analysis.New(w.trials(option, noise), analysis.Options{Baseline: "clean", Networks: []string{"clean", "slow", "fixed"}, Probes: []string{"p", "fixed"},
		Contrasts: []analysis.Contrast{{Of: of, To: to, In: in, Value: test.Metric}, {To: map[string]string{"network": "clean"}}}})
	s := statement(test)
	s.Cells[0] = analysis.Cell{Probe: "p", Network: "slow"}
	return Read(s, run, []finding.Finding{{Rule: s.Rule, Place: s.Place, Cells: s.Cells}})
}

// Of wrong hypotheses none stands, whatever else the change does; the true ones beside them do.
func TestWrongHypotheses(t *testing.T) {
	step, option := []plan.Step{switchOn}, map[string]string{"rcvbuf": "4194304"}
	gain := func(factor float64, whole bool) finding.Test {
		return finding.Test{Fix: step, Metric: record.Throughput, Factor: factor, Whole: whole}
	}
	cheaper := finding.Test{Fix: step, Metric: record.CPUOwnPerBit, Factor: 0.9}
	fewer := finding.Test{Fix: step, Metric: record.Loss, Factor: 0.5}
	buffer := finding.Test{Options: option, Metric: record.Throughput, Factor: 1.02, Whole: true}
	read := finding.Test{Options: option, Metric: record.Loss, Factor: 0.5}
	ok := [3]float64{10, 0, 1}
	for _, c := range []struct {
		about string
		w     world
		test  finding.Test
		noise float64
		want  Outcome
		says  string
	}{
		{"a limit that is the only one", world{clean: ok, found: [3]float64{1, 0, 1}, fixed: ok}, gain(1.02, true), 0.02, Stands, "10"},
		{"offloads that cost five times the CPU time", world{clean: ok, found: [3]float64{8, 0, 5}, fixed: ok}, cheaper, 0.02, Stands, "0.20"},
		{"a filter that drops packets", world{clean: ok, found: [3]float64{9, 0.03, 1}, fixed: ok}, fewer, 0.02, Stands, "0.00"},
		{"a small buffer of this network alone", world{clean: ok, found: [3]float64{1, 0, 1}, cleanFixed: ok, fixed: ok}, buffer, 0.02, Stands, "10"},

		{"rules that nothing meets", world{clean: ok, found: [3]float64{10, 0, 1}, fixed: ok}, cheaper, 0.02, Refuted, ""},
		{"a shaper above the rate", world{clean: ok, found: [3]float64{5, 0, 1}, fixed: [3]float64{5, 0, 1}}, gain(1.02, true), 0.002, Refuted, ""},
		{"a shaper beside a policer: a little more passes", world{clean: ok, found: [3]float64{1, 0, 1}, fixed: [3]float64{1.1, 0, 1}}, gain(1.02, true), 0.01, Open, "hardly shrinks"},
		{"a shaper in a network that is as fast as the baseline", world{clean: ok, found: ok, fixed: [3]float64{14, 0, 1}}, gain(1.02, true), 0.01, Open, "no difference to remove"},
		{"a shaper in a network that is faster", world{clean: ok, found: [3]float64{13, 0, 1}, fixed: [3]float64{15, 0, 1}}, gain(1.02, true), 0.01, Open, "no difference to remove"},
		{"a fix that slows", world{clean: ok, found: [3]float64{5, 0, 1}, fixed: [3]float64{3, 0, 1}}, gain(1.02, true), 0.02, Refuted, ""},
		{"a fix that stops all", world{clean: ok, found: [3]float64{5, 0, 1}, fixed: [3]float64{-1, 0, 0}}, gain(1.02, true), 0.02, Refuted, "no packet came back"},
		{"offloads of a path that needs them off", world{clean: ok, found: [3]float64{8, 0, 5}, fixed: [3]float64{-1, 0, 0}}, cheaper, 0.02, Refuted, "no packet came back"},
		{"a policer whose packets shrink: less CPU time, as next to nothing passes", world{clean: ok, found: [3]float64{8, 0, 5}, fixed: [3]float64{0.08, 0, 1}}, cheaper, 0.02, Refuted, "carries 0.01× of what it carried"},
		{"a filter whose removal stops the traffic that was lost", world{clean: ok, found: [3]float64{9, 0.03, 1}, fixed: [3]float64{1, 0, 1}}, fewer, 0.02, Refuted, "of what it carried"},
		{"a filter that drops a third of what is lost", world{clean: ok, found: [3]float64{9, 0.03, 1}, fixed: [3]float64{9, 0.02, 1}}, fewer, 0.02, Refuted, ""},
		{"a filter that drops two fifths, and noise", world{clean: ok, found: [3]float64{9, 0.03, 1}, fixed: [3]float64{9, 0.018, 1}}, fewer, 0.6, Open, ""},
		{"cost that the baseline has, too", world{clean: [3]float64{10, 0, 5}, found: [3]float64{10, 0, 5}, fixed: [3]float64{10, 0, 2}}, cheaper, 0.02, Open, "no difference to remove"},
		{"cost that is lower than the baseline's", world{clean: [3]float64{10, 0, 8}, found: [3]float64{10, 0, 5}, fixed: [3]float64{10, 0, 2}}, cheaper, 0.02, Open, "no difference to remove"},
		{"cost that rises", world{clean: ok, found: [3]float64{8, 0, 2}, fixed: [3]float64{8, 0, 3}}, cheaper, 0.02, Refuted, ""},
		{"cost that falls by a twentieth", world{clean: ok, found: [3]float64{8, 0, 2}, fixed: [3]float64{8, 0, 1.9}}, cheaper, 0.002, Refuted, ""},
		{"a buffer that makes every network faster", world{clean: ok, found: [3]float64{5, 0, 1}, cleanFixed: [3]float64{20, 0, 1}, fixed: [3]float64{10, 0, 1}}, buffer, 0.002, Refuted, "the difference from clean stays"},
		{"such a buffer, and noise", world{clean: ok, found: [3]float64{5, 0, 1}, cleanFixed: [3]float64{20, 0, 1}, fixed: [3]float64{10, 0, 1}}, buffer, 0.1, Open, "hardly shrinks"},
		{"a buffer that helps a little against a policer", world{clean: ok, found: [3]float64{1, 0, 1}, cleanFixed: ok, fixed: [3]float64{1.2, 0, 1}}, buffer, 0.01, Open, "hardly shrinks"},
		{"a buffer of a program that reads slowly", world{clean: ok, found: [3]float64{5, 0, 1}, cleanFixed: ok, fixed: [3]float64{5, 0, 1}}, buffer, 0.002, Refuted, ""},
		{"a socket beside a policer that drops as much", world{clean: ok, found: [3]float64{9, 0.5, 1}, cleanFixed: ok, fixed: [3]float64{9, 0.45, 1}}, read, 0.02, Refuted, ""},
		{"nothing, and noise", world{clean: ok, found: ok, fixed: ok}, gain(1.05, false), 0.5, Open, ""},
	} {
		v := c.w.judge(c.test, c.noise)
		if v.Outcome != c.want || !strings.Contains(v.Say().String(), c.says) {
			t.Errorf("%s: %s (found %.3g, left %.3g), want %s", c.about, v, v.Found.Center, v.Left.Center, c.want)
		}
		b, err := EncodeVerdicts([]Verdict{v})
		if err != nil {
			t.Fatal(err)
		}
		if stored, err := ParseVerdicts(b); err != nil || stored[0].String() != v.String() {
			t.Errorf("%s: stored as %v, %v", c.about, stored, err)
		}
	}
}
