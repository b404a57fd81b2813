package tally

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/weir-bench/weir/internal/engine/event"
)

// An answer is what the library MLRsearch 1.2.1 of FD.io CSIT (https://pypi.org/project/MLRsearch/1.2.1) says of trials:
// those of weir's own searches, random ones, and those that the library's own search of a simulated device chose.
type answer struct {
	Name                     string
	Loss, Exceed, Trial, Sum float64
	Trials                   [][3]float64 // load, duration, loss ratio
	Lower, Upper, Throughput float64
}

func answers(t *testing.T) (all []answer) {
	b, err := os.ReadFile("testdata/mlrsearch-1.2.1.json")
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil || len(all) < 50 {
		t.Fatalf("%d answers (%v)", len(all), err)
	}
	return all
}

// Goals are judged as the published library judges them.
func TestGoalsAsTheLibrary(t *testing.T) {
	for _, a := range answers(t) {
		var trials []Trial
		for _, x := range a.Trials {
			trials = append(trials, Trial{x[0], x[1], x[2]})
		}
		lower, upper, throughput := Goal{a.Loss, a.Exceed, a.Trial, a.Sum}.Result(trials)
		if lower != a.Lower || upper != a.Upper || math.Abs(throughput-a.Throughput) > 1e-9*a.Throughput {
			t.Errorf("%s, goal %g: %g, %g, %g; the library says %g, %g, %g", a.Name, a.Loss, lower, upper, throughput, a.Lower, a.Upper, a.Throughput)
		}
	}
}

// A search that was measured has, for each goal, what the library says of its phases.
func TestRecordedGoals(t *testing.T) {
	b, err := os.ReadFile("../../probe/testdata/native/1-udp-capacity-goals.out")
	if err != nil {
		t.Fatal(err)
	}
	var r event.UDPSearch
	if err := event.Read(b, "udp-search", &r); err != nil {
		t.Fatal(err)
	}
	var losses []float64
	for _, g := range r.Goals {
		losses = append(losses, g.Loss)
	}
	s := NewGoals(losses, r.Width, 500)
	for i, p := range r.Phases {
		if rate, done := s.Next(); done || rate != p.Asked {
			t.Fatalf("phase %d is at %g packet/s, next %g, done %v", i, p.Asked, rate, done)
		}
		s.Add(p)
	}
	if found := s.Found(r.Length); len(found) != 4 || !slices.Equal(found, r.Goals) {
		t.Errorf("found %+v, recorded %+v", found, r.Goals)
	}
	for _, a := range answers(t) {
		i := slices.Index(losses, a.Loss)
		if a.Name != "a path with loss" {
			continue
		}
		trials := s[i].trials(r.Length)
		same := len(trials) == len(a.Trials)
		for j := 0; same && j < len(trials); j++ {
			same = trials[j] == Trial{a.Trials[j][0], a.Trials[j][1], a.Trials[j][2]}
		}
		if g := r.Goals[i]; !same || g.Lower != a.Lower || math.Abs(g.Throughput-a.Throughput) > 1e-9*a.Throughput ||
			g.Limit == event.LimitPath && g.Upper != a.Upper {
			t.Errorf("%+v; the library says %g, %g, %g", g, a.Lower, a.Upper, a.Throughput)
		}
	}
}

// One search with several goals finds what a search for each finds, with fewer phases, and the bounds of MLRsearch are
// those with which it ended.
func TestGoals(t *testing.T) {
	const width = 0.02
	losses := []float64{0, 0.001, 0.005, 0.02}
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 3))
		x := simulated{sender: 800e3, capacity: 700e3, loses: func(r float64) float64 { return max(0, r-200e3) * 2e-8 * (1 + rng.Float64()/10) }}
		g, all := NewGoals(losses, width, 1000), 0
		n := 0
		for rate, done := g.Next(); !done && n < 300; rate, done = g.Next() {
			g.Add(x.phase(rate))
			n++
		}
		for i, f := range g.Found(simulatedPhase) {
			single := Search{Loss: losses[i], Width: width, Floor: 1000}
			_, phases := x.search(&single, 300)
			all += phases
			want := min(200e3+losses[i]/2e-8, 700e3)
			if b := g[i].bounds(); f.Limit != event.LimitPath || f.Lower > b.from || f.Lower < b.from/(1+width) || f.Upper != b.lost ||
				f.Upper > b.from*(1+width)*1.0001 || math.Abs(f.Lower/want-1) > 0.08 || f.Throughput < f.Lower*(1-losses[i]) || f.Throughput > f.Lower {
				t.Errorf("seed %d: %+v, want about %g, %+v", seed, f, want, b)
			}
		}
		if n >= all {
			t.Errorf("seed %d: %d phases together, %d in single searches", seed, n, all)
		}
	}
}

// A search that ends early says nothing of goals that it did not reach, and none has an upper bound where the sender is
// the limit.
func TestGoalsWithoutBounds(t *testing.T) {
	g := NewGoals([]float64{0, 0.01}, 0.02, 1000)
	x := simulated{sender: 800e3, capacity: 300e3}
	for range 4 {
		rate, _ := g.Next()
		g.Add(x.phase(rate))
	}
	for _, f := range g.Found(simulatedPhase) {
		if f.Limit != event.LimitTime || f.Lower != 0 || f.Upper != 0 || f.Throughput != 0 {
			t.Errorf("after 4 phases: %+v", f)
		}
	}
	g = NewGoals([]float64{0, 0.01}, 0.02, 1000)
	x = simulated{sender: 500e3, paced: 300e3, capacity: 800e3}
	for rate, done := g.Next(); !done; rate, done = g.Next() {
		g.Add(x.phase(rate))
	}
	for _, f := range g.Found(simulatedPhase) {
		if f.Limit != event.LimitSender || f.Upper != 0 || f.Throughput < 290e3 || f.Throughput > 300e3 {
			t.Errorf("the sender is the limit: %+v", f)
		}
	}
}
