package study

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Every two hosts meet once, no host is in two pairs of a round, and no round is wasted.
func TestRounds(t *testing.T) {
	for n := range 65 {
		rounds := Rounds(n)
		want := n - 1
		if n%2 == 1 {
			want = n
		}
		if n < 2 {
			want = 0
		}
		if len(rounds) != want {
			t.Errorf("%d hosts: %d rounds, want %d", n, len(rounds), want)
		}
		met, idle := map[Pair]bool{}, map[int]int{}
		for r, round := range rounds {
			busy := map[int]bool{}
			for _, p := range round {
				if p.A < 1 || p.A >= p.B || p.B > n || met[p] || busy[p.A] || busy[p.B] {
					t.Errorf("%d hosts, round %d: %v is not a pair, or occurs twice: %v", n, r+1, p, round)
				}
				met[p], busy[p.A], busy[p.B] = true, true, true
			}
			for h := 1; h <= n; h++ {
				if !busy[h] {
					idle[h]++
				}
			}
		}
		if n > 0 && len(met) != n*(n-1)/2 {
			t.Errorf("%d hosts: %d pairs", n, len(met))
		}
		for h := 1; h <= n && want > 0; h++ {
			if idle[h] != n%2 {
				t.Errorf("%d hosts: %d is idle in %d rounds", n, h, idle[h])
			}
		}
	}
}

func pairsOf(groups [][]Trial) string {
	var all []string
	for _, g := range groups {
		var one []string
		for _, t := range g {
			one = append(one, t.Network+" "+t.Pair.String())
		}
		all = append(all, strings.Join(one, "+"))
	}
	return strings.Join(all, ", ")
}

// This order must never change, like Block's. One at a time is the same order.
func TestScheduleIsPinned(t *testing.T) {
	s, err := Load([]byte("networks: [a, b]\nprobes: [p]\nhosts: 4\npairs: all\nseed: 42\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	for block, want := range map[int]string{
		1: "a h1-h4+a h2-h3, b h1-h4+b h2-h3, b h3-h4+b h1-h2, b h2-h4+b h1-h3, a h3-h4+a h1-h2, a h2-h4+a h1-h3",
		2: "a h2-h4+a h1-h3, b h1-h4+b h2-h3, a h3-h4+a h1-h2, b h3-h4+b h1-h2, b h2-h4+b h1-h3, a h1-h4+a h2-h3",
	} {
		got := pairsOf(s.Schedule(block, s.Cells(nil)))
		if got != want {
			t.Errorf("block %d: %s, want %s", block, got, want)
		}
		single := s
		single.OneAtATime = true
		if got := pairsOf(single.Schedule(block, s.Cells(nil))); got != strings.ReplaceAll(want, "+", ", ") {
			t.Errorf("block %d one at a time: %s", block, got)
		}
	}
}

// All pairs of a cell have distinct names, the same in every order, and the cell's levels without
// the pair, which is not a probe option.
func TestScheduleIsWhole(t *testing.T) {
	s, err := Load([]byte(design+"hosts: 5\npairs: all\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	cells := s.Cells(nil)
	names := map[string]string{}
	for seed := range uint64(3) {
		s.Seed = seed
		seen := map[string]bool{}
		for _, group := range s.Schedule(7, cells) {
			for _, tr := range group {
				what := fmt.Sprint(tr.Cell, tr.Pair)
				if seen[what] || tr.Block != 7 || !reflect.DeepEqual(tr.Cell, group[0].Cell) || names[tr.ID] != "" && names[tr.ID] != what {
					t.Fatalf("trial %+v occurs twice, is in the wrong group, or has the name of %s", tr, names[tr.ID])
				}
				seen[what], names[tr.ID] = true, what
			}
		}
		if len(seen) != len(cells)*s.Pairs() {
			t.Errorf("%d trials", len(seen))
		}
	}
	if len(names) != len(cells)*10 || names["b007-host-tcp-stream-mtu=1500-pair=h1-h5-size=100"] == "" {
		t.Errorf("%d names: %v", len(names), slices.Sorted(maps.Keys(names)))
	}
}

func TestScheduleOfOne(t *testing.T) {
	s, err := Load([]byte(design), "f")
	if err != nil {
		t.Fatal(err)
	}
	var got []Trial
	for _, g := range s.Schedule(3, s.Cells(nil)) {
		if len(g) != 1 {
			t.Errorf("%d trials at once", len(g))
		}
		got = append(got, g...)
	}
	if want := Block(s.Seed, 3, s.Cells(nil)); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
