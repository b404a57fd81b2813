package tally

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weir-bench/weir/internal/engine/event"
)

type simulated struct {
	sender   float64                             // packet/s that the sender reaches
	paced    float64                             // on a schedule; 0: the same
	capacity float64                             // packet/s that pass
	buffer   float64                             // datagrams that wait for their turn
	floor    float64                             // share that is lost at any rate
	loses    func(rate float64) float64          // additional share lost; nil: none
	stall    func() (sends, loses, late float64) // of a phase: shares of the time that sending stops, of datagrams lost, and seconds that the last one is late; nil: none
}

const simulatedPhase = 0.05 // s

func (x simulated) phase(asked float64) event.Phase {
	var sends, loses, late float64
	if x.stall != nil {
		sends, loses, late = x.stall()
	}
	rate := x.sender * (1 - sends)
	p := event.Phase{Asked: asked, Window: simulatedPhase}
	if asked > 0 {
		if x.paced > 0 {
			rate = x.paced
		}
		rate = min(rate, asked)
		p.Offered = int64(math.Ceil(asked * p.Window))
	}
	p.Sent = int64(math.Ceil(rate * p.Window))
	if asked == 0 {
		p.Offered = p.Sent
	}
	pass := min(float64(p.Sent), x.capacity*p.Window+x.buffer)
	share := x.floor + loses
	if x.loses != nil {
		share += x.loses(rate)
	}
	p.Delivered = int64(pass * max(1-share, 0))
	p.Queue = max(pass/x.capacity-p.Window, 0) + late
	return p
}

// search runs a search over the path, and returns its result and number of phases.
func (x simulated) search(s *Search, most int) (event.Found, int) {
	for n := 0; ; n++ {
		rate, done := s.Next()
		if done || n == most {
			return s.Found(done), n
		}
		s.Add(x.phase(rate))
	}
}

func TestSearch(t *testing.T) {
	const width = 0.02
	for _, tc := range []struct {
		name  string
		loss  float64
		path  simulated
		limit string
		rate  float64 // to find
		upper bool    // a lossy rate is known
	}{
		{"a path with a capacity", 0, simulated{sender: 800e3, capacity: 300e3}, event.LimitPath, 300e3, true},
		{"a slow one", 0, simulated{sender: 900e3, capacity: 8600}, event.LimitPath, 8600, true},
		{"one with a buffer longer than a phase", 0, simulated{sender: 800e3, capacity: 100e3, buffer: 12e3}, event.LimitPath, 100e3, true},
		{"one with a buffer that holds all of a phase", 0, simulated{sender: 200e3, capacity: 100e3, buffer: 1e6}, event.LimitPath, 100e3, true},
		{"a sender that is the limit", 0, simulated{sender: 500e3, capacity: 800e3}, event.LimitSender, 500e3, false},
		{"a sender that is slower on a schedule", 0, simulated{sender: 500e3, paced: 300e3, capacity: 800e3}, event.LimitSender, 300e3, false},
		{"a bound above what is always lost", 0.005, simulated{sender: 800e3, capacity: 300e3, floor: 0.002}, event.LimitPath, 300e3, true},
		{"a loss that grows", 0.005, simulated{sender: 800e3, capacity: 700e3, loses: func(r float64) float64 { return max(0, r-200e3) / 1e7 }}, event.LimitPath, 250e3, true},
		// Flat out it delivers a tenth of its capacity.
		{"a path that collapses", 0, simulated{sender: 800e3, capacity: 800e3, loses: func(r float64) float64 {
			if r > 400e3 {
				return 0.95
			}
			return 0
		}}, event.LimitPath, 400e3, true},
	} {
		s := Search{Loss: tc.loss, Width: width, Floor: 1000}
		f, n := tc.path.search(&s, 1000)
		if f.Limit != tc.limit || f.Lower < tc.rate/(1+2*width) || f.Lower > tc.rate*1.001 || (f.Upper > 0) != tc.upper || f.Inverted != 0 {
			t.Errorf("%s: %+v, want %g, limited by %s", tc.name, f, tc.rate, tc.limit)
		}
		if f.Limit == event.LimitPath && (f.Upper <= f.Lower || f.Upper > f.Load*(1+width)*1.0001) {
			t.Errorf("%s: bounds %+v are not within %g", tc.name, f, width)
		}
		if f.Load < f.Lower || f.Load > f.Lower*(1+2*width) {
			t.Errorf("%s: %g was carried, and %g asked for", tc.name, f.Lower, f.Load)
		}
		if n > 45 {
			t.Errorf("%s: %d phases", tc.name, n)
		}
	}
}

// Stalls in every fifth phase rarely make a lasting bound.
func TestSearchStalls(t *testing.T) {
	off := 0
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		x := simulated{sender: 800e3, capacity: 300e3, stall: func() (sends, loses, late float64) {
			switch rng.IntN(15) {
			case 0:
				return 0.3, 0, 0
			case 1:
				return 0, 0.2, 0
			case 2:
				return 0, 0, 0.01
			}
			return 0, 0, 0
		}}
		s := Search{Width: 0.02, Floor: 1000}
		f, n := x.search(&s, 100)
		if f.Limit != event.LimitPath || f.Lower < 300e3/1.05 || f.Lower > 300e3 {
			off++
			t.Logf("seed %d: %+v after %d phases", seed, f, n)
		}
	}
	if off > 2 {
		t.Errorf("%d of 500 searches are off", off)
	}
}

// The rate carried varies from phase to phase, as under a scheduler.
func TestSearchNoise(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		x := simulated{sender: 800e3}
		s := Search{Loss: 0.005, Width: 0.02, Floor: 1000}
		for n := 0; ; n++ {
			rate, done := s.Next()
			if done {
				f := s.Found(true)
				if f.Lower < 250e3 || f.Lower > 330e3 || f.Limit != event.LimitPath {
					t.Errorf("seed %d: %+v after %d phases", seed, f, n)
				}
				break
			}
			if n > 200 {
				t.Fatalf("seed %d: no end", seed)
			}
			x.capacity = 300e3 * (1 + 0.03*rng.NormFloat64())
			s.Add(x.phase(rate))
		}
	}
}

// If a lower rate loses more than a higher one, it bounds the result, which reports the higher one.
func TestSearchInversion(t *testing.T) {
	x := simulated{sender: 500e3, paced: 480e3, capacity: 800e3, loses: func(r float64) float64 {
		if r > 300e3 && r < 490e3 {
			return 0.1
		}
		return 0
	}}
	s := Search{Width: 0.02, Floor: 1000}
	f, _ := x.search(&s, 1000)
	if f.Lower < 290e3 || f.Lower > 300e3 || f.Upper < 300e3 || f.Upper > 310e3 || f.Inverted != 500e3 || f.Limit != event.LimitPath {
		t.Errorf("%+v, want 300e3, and 500e3 carried all the same", f)
	}
}

// A bound caused by a stall does not survive another try.
func TestSearchFlips(t *testing.T) {
	paced := 0
	x := simulated{sender: 800e3, capacity: 300e3}
	s := Search{Width: 0.02, Floor: 1000}
	for {
		rate, done := s.Next()
		if f := s.Found(done); done {
			if f.Lower < 299e3 || f.Limit != event.LimitPath {
				t.Errorf("%+v, want 300e3", f)
			}
			return
		}
		p := x.phase(rate)
		if rate > 0 {
			if paced++; paced <= 2 {
				p.Delivered /= 2
			}
		}
		s.Add(p)
	}
}

// A search finds nothing if even the slowest rate loses, and reports when it is cut off.
func TestSearchFindsNothing(t *testing.T) {
	s := Search{Width: 0.02, Floor: 1000}
	f, n := simulated{sender: 800e3, capacity: 300e3, floor: 0.01}.search(&s, 1000)
	if f.Lower != 0 || f.Limit != event.LimitPath || f.Upper > 2000 || n > 60 {
		t.Errorf("%+v after %d phases, want none", f, n)
	}
	s = Search{Width: 0.02, Floor: 1000}
	f, _ = simulated{sender: 800e3, capacity: 1}.search(&s, 1000)
	if f.Lower != 0 {
		t.Errorf("%+v of a path that carries nothing", f)
	}
	s = Search{Width: 0.02, Floor: 1000}
	f, _ = simulated{sender: 800e3, capacity: 300e3}.search(&s, 3)
	if f.Limit != event.LimitTime {
		t.Errorf("%+v after 3 phases, want one that the time limits", f)
	}
}
