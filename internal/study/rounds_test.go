package study

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func chosen(t testing.TB, hosts, rounds int, zones []string) Study {
	t.Helper()
	s, err := Load(fmt.Appendf(nil, "networks: [a, b]\nprobes: [p]\nhosts: %d\npairs: all\nrounds: %d\nseed: 42\n", hosts, rounds), "f")
	if err != nil {
		t.Fatal(err)
	}
	s.Zones = zones
	return s
}

// inZones spreads hosts over zones of these sizes.
func inZones(sizes ...int) (zones []string) {
	for z, n := range sizes {
		zones = append(zones, slices.Repeat([]string{string(rune('a' + z))}, n)...)
	}
	return zones
}

// Every host has one partner in every round, a new one each time, except for one idle host of an odd
// number, which is another one each time.
func TestChosenRounds(t *testing.T) {
	for _, c := range []struct {
		hosts, rounds int
		zones         []string
	}{
		{4, 1, nil}, {4, 2, nil}, {9, 4, nil}, {50, 12, nil}, {51, 12, nil}, {64, 62, nil},
		{4, 2, inZones(2, 2)}, {12, 4, inZones(4, 4, 4)}, {13, 4, inZones(6, 5, 2)}, {50, 12, inZones(20, 20, 10)},
		{51, 12, inZones(49, 1, 1)}, {40, 12, inZones(10, 10, 10, 10)}, {6, 4, inZones(2, 2, 2)}, {8, 5, inZones(7, 1)},
	} {
		name := fmt.Sprintf("%d hosts, %d rounds, zones %v", c.hosts, c.rounds, c.zones)
		s := chosen(t, c.hosts, c.rounds, c.zones)
		idle := map[int]int{}
		blocks := 2 * c.hosts
		for block := 1; block <= blocks; block++ {
			rounds := s.rounds(block)
			if !reflect.DeepEqual(rounds, s.rounds(block)) {
				t.Errorf("%s: block %d has different rounds the second time", name, block)
			}
			if len(rounds) != c.rounds || len(rounds)*(c.hosts/2) != s.Pairs() {
				t.Errorf("%s: %d rounds, %d pairs announced", name, len(rounds), s.Pairs())
			}
			met := map[Pair]bool{}
			for _, round := range rounds {
				busy := map[int]bool{}
				for _, p := range round {
					if p.A < 1 || p.A >= p.B || p.B > c.hosts || met[p] || busy[p.A] || busy[p.B] {
						t.Fatalf("%s: block %d: %v is not a pair, or occurs twice: %v", name, block, p, rounds)
					}
					met[p], busy[p.A], busy[p.B] = true, true, true
				}
				if len(round) != c.hosts/2 {
					t.Fatalf("%s: block %d: a round has %d pairs", name, block, len(round))
				}
				for h := 1; h <= c.hosts; h++ {
					if !busy[h] {
						idle[h]++
					}
				}
			}
		}
		// In turn: the numbers differ by one cycle at most.
		for h := 1; h <= c.hosts && c.hosts%2 == 1; h++ {
			if want := float64(blocks*c.rounds) / float64(c.hosts); math.Abs(float64(idle[h])-want) > 2+0.35*want {
				t.Errorf("%s: host %d is idle %d times, want %g", name, h, idle[h], want)
			}
		}
	}
}

// The rounds of a block are pinned: another order breaks resumption.
func TestChosenRoundsArePinned(t *testing.T) {
	for _, c := range []struct {
		zones []string
		want  string
	}{
		{nil, "[[h1-h5 h2-h4 h3-h6] [h2-h5 h1-h3 h4-h6]] [[h3-h5 h2-h6 h1-h4] [h5-h6 h3-h4 h1-h2]]"},
		{inZones(3, 3), "[[h3-h6 h2-h4 h1-h5] [h2-h3 h4-h5 h1-h6]] [[h3-h6 h1-h4 h2-h5] [h4-h5 h2-h3 h1-h6]]"},
	} {
		if got := fmt.Sprint(chosen(t, 6, 2, c.zones).rounds(1), chosen(t, 6, 2, c.zones).rounds(2)); got != c.want {
			t.Errorf("zones %v: %s, want %s", c.zones, got, c.want)
		}
	}
}

// Pairs inside zones and across them are measured as often as they are among all pairs.
func TestRoundsFollowZones(t *testing.T) {
	for _, sizes := range [][]int{{10, 10}, {12, 12, 12}, {30, 10, 8}, {8, 8, 8, 8}, {40, 2, 2}} {
		zones := inZones(sizes...)
		s := chosen(t, len(zones), 6, zones)
		inside, all := 0, 0
		for block := 1; block <= 40; block++ {
			for _, round := range s.rounds(block) {
				for _, p := range round {
					all++
					if zones[p.A-1] == zones[p.B-1] {
						inside++
					}
				}
			}
		}
		n, of := len(zones), 0
		for _, size := range sizes {
			of += size * (size - 1) / 2
		}
		got, want := float64(inside)/float64(all), float64(of)/float64(n*(n-1)/2)
		if math.Abs(got-want) > 0.05 {
			t.Errorf("zones %v: %.3f of the measured pairs are inside a zone, %.3f of all are", sizes, got, want)
		}
	}
}

// All cells of a block have the same pairs, because a ratio divides values of the same pairs.
func TestChosenRoundsAreShared(t *testing.T) {
	s := chosen(t, 20, 3, inZones(10, 10))
	of := map[string]map[Pair]bool{"a": {}, "b": {}}
	groups := s.Schedule(4, s.Cells(nil))
	for _, g := range groups {
		for _, tr := range g {
			of[tr.Network][tr.Pair] = true
		}
	}
	if len(groups) != 2*s.Turns() || len(of["a"]) != s.Pairs() || !reflect.DeepEqual(of["a"], of["b"]) {
		t.Errorf("%d groups; pairs of a %v, of b %v", len(groups), of["a"], of["b"])
	}
}

// With 500 hosts and 12 rounds, one block knows the mean of each host to a few per cent although the
// paths between hosts differ by 9 % and the other hosts by 5 %.
func TestTwelveRoundsKnowHosts(t *testing.T) {
	const hosts, spread = 500, 0.09
	zones := inZones(200, 200, 100)
	r := rand.New(rand.NewPCG(3, 4))
	speed := make([]float64, hosts+1)
	for h := range speed {
		speed[h] = math.Exp(0.05 * r.NormFloat64())
	}
	s := chosen(t, hosts, 12, zones)
	sum, n := make([]float64, hosts+1), make([]float64, hosts+1)
	for _, round := range s.rounds(1) {
		for _, p := range round {
			pair := math.Log(speed[p.A]*speed[p.B]) + spread*r.NormFloat64()
			for _, h := range []int{p.A, p.B} {
				sum[h], n[h] = sum[h]+pair, n[h]+1
			}
		}
	}
	squares := 0.0
	for h := 1; h <= hosts; h++ {
		if n[h] != 12 {
			t.Fatalf("host %d was measured %g times", h, n[h])
		}
		squares += math.Pow(sum[h]/n[h]-math.Log(speed[h]), 2) / hosts
	}
	if e := math.Sqrt(squares); e > 0.035 || e < 0.025 {
		t.Errorf("the mean of a host is off by %.1f %% (standard error), want about 3.0 %%", 100*e)
	}
}

func TestBadRounds(t *testing.T) {
	for _, src := range []string{"rounds: 2", "pairs: all\nrounds: -1", "pairs: all\nrounds: 10001"} {
		if _, err := Load([]byte("networks: [a]\nprobes: [p]\nhosts: 6\n"+src+"\n"), "f"); err == nil {
			t.Errorf("%q: no error", src)
		}
	}
	if s := chosen(t, 6, 20, nil); s.Pairs() != 15 || !reflect.DeepEqual(s.rounds(3), Rounds(6)) {
		t.Errorf("more rounds than there are: %d pairs", s.Pairs())
	}
}

func BenchmarkRounds500(b *testing.B) {
	s := chosen(b, 500, 12, inZones(200, 200, 100))
	cells := s.Cells(nil)
	b.ReportAllocs()
	for block := range b.N {
		s.Schedule(block+1, cells)
	}
}
