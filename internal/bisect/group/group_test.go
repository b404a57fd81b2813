package group

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/weir-bench/weir/internal/stat"
)

// noise makes comparisons like paired runs: ten blocks, tails heavier than normal, and intervals of package stat whose
// half width is 3 % in the median.
type noise struct{ *rand.Rand }

func (r noise) compare(effect float64) Estimate {
	base, other := make([]float64, 10), make([]float64, 10)
	for i := range base {
		common := 0.1 * r.NormFloat64()
		base[i] = math.Exp(common)
		t := r.NormFloat64() / math.Sqrt((math.Pow(r.NormFloat64(), 2)+math.Pow(r.NormFloat64(), 2)+math.Pow(r.NormFloat64(), 2)+math.Pow(r.NormFloat64(), 2)+math.Pow(r.NormFloat64(), 2))/5)
		other[i] = math.Exp(common + effect + 0.0212*t)
	}
	return Of(stat.Ratio(base, other, 0.95))
}

// bisect searches with comparisons whose truth is the effect of a set.
func bisect(n int, truth func(Set) float64, seed uint64) Outcome {
	r := noise{rand.New(rand.NewPCG(seed, 42))}
	b := New(n, math.Log(0.95))
	for {
		s, ok := b.Next()
		if !ok {
			return b.Outcome()
		}
		var got []Estimate
		for _, c := range s.Comparisons {
			got = append(got, r.compare(truth(c.To)-truth(c.From)))
		}
		b.Answer(s, got)
	}
}

// simulate returns in how many of 100 searches right holds, and the median number of comparisons.
func simulate(t *testing.T, runs int, truth func(run int) func(Set) float64, right func(run int, o Outcome) bool) (percent float64, comparisons int) {
	if testing.Short() {
		runs /= 50
	}
	ok, counts := make([]bool, runs), make([]int, runs)
	kinds := map[Kind]int{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	for w := range 2 {
		wait.Go(func() {
			for run := w; run < runs; run += 2 {
				o := bisect(64, truth(run), uint64(run))
				ok[run], counts[run] = right(run, o), o.Comparisons
				mu.Lock()
				kinds[o.Kind]++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	n := 0
	for _, is := range ok {
		if is {
			n++
		}
	}
	slices.Sort(counts)
	t.Logf("%d runs: right in %.1f %%, comparisons: median %d, 90 %% %d, most %d; kinds %v", runs, 100*float64(n)/float64(runs), counts[runs/2], counts[9*runs/10], counts[runs-1], kinds)
	return 100 * float64(n) / float64(runs), counts[runs/2]
}

func members(run int) (i, j int) {
	r := rand.New(rand.NewPCG(uint64(run), 7))
	p := r.Perm(64)
	return min(p[0], p[1]), max(p[0], p[1])
}

var slower = math.Log(0.95)

// One of 64 changes makes something 5 % slower.
func TestOne(t *testing.T) {
	percent, comparisons := simulate(t, 1000, func(run int) func(Set) float64 {
		i, _ := members(run)
		return func(s Set) float64 { return slower * is(s[i]) }
	}, func(run int, o Outcome) bool {
		i, _ := members(run)
		return o.Kind == One && o.Members[0] == i
	})
	if percent < 95 || comparisons > 10 {
		t.Errorf("right in %.1f %% with %d comparisons in the median; want 95 %% with 10", percent, comparisons)
	}
}

// Two of 64 changes make something 5 % slower, but only together.
func TestBoth(t *testing.T) {
	percent, comparisons := simulate(t, 1000, func(run int) func(Set) float64 {
		i, j := members(run)
		return func(s Set) float64 { return slower * is(s[i] && s[j]) }
	}, func(run int, o Outcome) bool {
		i, j := members(run)
		return o.Kind == Both && slices.Equal(o.Members, []int{i, j})
	})
	if percent < 95 || comparisons > 24 {
		t.Errorf("right in %.1f %% with %d comparisons in the median; want 95 %% with 24", percent, comparisons)
	}
}

// None of 64 changes has an effect: none is blamed.
func TestNone(t *testing.T) {
	percent, _ := simulate(t, 1000, func(int) func(Set) float64 {
		return func(Set) float64 { return 0 }
	}, func(_ int, o Outcome) bool { return o.Kind == NoCause })
	if percent < 95 {
		t.Errorf("none found in %.1f %%; want 95 %%", percent)
	}
}

// A cause that is all changes has no others to be made on top of, and its confirmation is one comparison.
func TestAllChanges(t *testing.T) {
	o := bisect(1, func(s Set) float64 { return 4 * slower * is(s[0]) }, 1)
	if share, lo, hi := o.Share(); o.Kind != One || o.Comparisons != 2 || o.Without.SE != 0 || share != 1 || lo != 1 || hi != 1 {
		t.Errorf("one change: %+v", o)
	}
	o = bisect(2, func(s Set) float64 { return 4 * slower * is(s[0] && s[1]) }, 1)
	if o.Kind != Both || len(o.Alone) != 2 || o.Alone[0].SE == 0 || o.Without.SE != 0 {
		t.Errorf("two changes: %+v", o)
	}
}

// Sets without a value end a search, and confirm nothing.
func TestMissing(t *testing.T) {
	b := New(8, 0)
	for n := 0; ; n++ {
		s, ok := b.Next()
		if !ok {
			break
		}
		got := make([]Estimate, len(s.Comparisons))
		if s.Stage == Change {
			got[0] = Estimate{-1, 0.01}
		}
		if b.Answer(s, got); n > 10 {
			t.Fatal("the search goes on")
		}
	}
	if o := b.Outcome(); o.Kind != "" || o.Missing != most || o.Members != nil {
		t.Errorf("%+v", o)
	}
}

// The simulated noise is what the other tests say.
func TestNoise(t *testing.T) {
	r := noise{rand.New(rand.NewPCG(1, 2))}
	var halves, errors []float64
	for range 2000 {
		e := r.compare(0)
		halves = append(halves, normal95*e.SE)
		errors = append(errors, math.Abs(e.Log)/e.SE)
	}
	slices.Sort(halves)
	slices.Sort(errors)
	if half := halves[len(halves)/2]; half < 0.028 || half > 0.032 {
		t.Errorf("median half width %.4f, want 0.03", half)
	}
	t.Logf("95 %% of errors within %.2f standard errors, 99 %% within %.2f", errors[1900], errors[1980])
}

// Two of 64 changes have a part of the effect each: both are found, or the larger one with its share, and nothing else.
func TestSum(t *testing.T) {
	percent, _ := simulate(t, 500, func(run int) func(Set) float64 {
		i, j := members(run)
		return func(s Set) float64 { return slower * (1.2*is(s[i]) + 0.8*is(s[j])) }
	}, func(run int, o Outcome) bool {
		i, j := members(run)
		return o.Kind == Sum && slices.Equal(o.Members, []int{i, j})
	})
	if percent < 95 {
		t.Errorf("right in %.1f %%; want 95 %%", percent)
	}
}

// Each of two changes is enough: neither alone explains the effect, because it stays without it.
func TestEither(t *testing.T) {
	percent, _ := simulate(t, 500, func(run int) func(Set) float64 {
		i, j := members(run)
		return func(s Set) float64 { return slower * is(s[i] || s[j]) }
	}, func(run int, o Outcome) bool {
		i, j := members(run)
		return o.Kind == Either && slices.Equal(o.Members, []int{i, j})
	})
	if percent < 95 {
		t.Errorf("right in %.1f %%; want 95 %%", percent)
	}
}

// Where every change has a small part, none is blamed for all.
func TestSpread(t *testing.T) {
	percent, _ := simulate(t, 500, func(int) func(Set) float64 {
		return func(s Set) float64 { return 1.5 * slower * float64(len(s.Members())) / float64(len(s)) }
	}, func(_ int, o Outcome) bool { return o.Kind == Spread || o.Kind == "" })
	if percent < 95 {
		t.Errorf("none blamed in %.1f %%; want 95 %%", percent)
	}
}

// The interval of the share holds what is true.
func TestShare(t *testing.T) {
	runs := 300
	if testing.Short() {
		runs = 60
	}
	hit, found := 0, 0
	for run := range runs {
		i, j := members(run)
		o := bisect(16, func(s Set) float64 { return slower * (1.6*is(s[i%16]) + 0.4*is(s[(i+1+j%15)%16])) }, uint64(run))
		if o.Kind != One {
			continue
		}
		found++
		if _, lo, hi := o.Share(); lo <= 0.8 && 0.8 <= hi {
			hit++
		}
	}
	if found < runs/10 || 100*hit < 93*found {
		t.Errorf("%d of %d intervals hold the share of 0.8", hit, found)
	}
}
