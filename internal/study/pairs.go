package study

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/topo"
)

// A Pair is two hosts, counted from 1, A before B. A's end is the client unless the block is
// swapped.
type Pair struct{ A, B int }

func (p Pair) String() string { return topo.HostName(p.A) + "-" + topo.HostName(p.B) }

// Rounds pairs each of n hosts with every other once. No host appears twice in a round, so a
// round's pairs can run at once. An even n has n-1 rounds; an odd n has n, each with another idle
// host.
//
// It is the circle method of tournaments: one host, or the idle place, stays fixed while the others
// move one place around a circle; opposite hosts form a pair (E. Lucas, Récréations mathématiques
// II, 1883, after Walecki).
func Rounds(n int) [][]Pair {
	rounds := make([][]Pair, allRounds(n))
	for r := range rounds {
		rounds[r] = roundOf(n, r)
	}
	return rounds
}

// roundOf returns round r of Rounds, counted from 0.
func roundOf(n, r int) (round []Pair) {
	circle := n - 1 // places on it; the last host is outside it
	if n%2 == 1 {
		circle = n
	}
	if circle < n {
		round = append(round, pairOf(r, n-1))
	}
	for k := 1; k <= (circle-1)/2; k++ {
		round = append(round, pairOf((r+k)%circle, (r+circle-k)%circle))
	}
	return round
}

func pairOf(a, b int) Pair { return Pair{min(a, b) + 1, max(a, b) + 1} }

// Schedule returns the trials of one block, counted from 1, in Block's order. The trials of a group
// run at once. With all pairs, the rounds of all cells are in random order; all cells of a block have the
// same rounds.
func (s Study) Schedule(block int, cells []Cell) [][]Trial {
	if !s.AllPairs {
		return slices.Collect(slices.Chunk(Block(s.Seed, block, cells), 1))
	}
	rounds := s.rounds(block)
	var named []Cell // with the pair as a level, for its name
	var groups [][]Trial
	for _, c := range cells {
		for _, round := range rounds {
			var group []Trial
			for _, p := range round {
				n := c
				n.Levels = map[string]string{pairLevel: p.String()}
				maps.Copy(n.Levels, c.Levels)
				named = append(named, n)
				group = append(group, Trial{Block: block, Pair: p, Cell: c})
			}
			groups = append(groups, group)
		}
	}
	names := ids(named)
	for _, g := range groups {
		for i := range g {
			g[i].ID = fmt.Sprintf("b%03d-%s", block, names[0])
			names = names[1:]
		}
	}
	shuffle(s.Seed, block, groups)
	if s.OneAtATime {
		return slices.Collect(slices.Chunk(slices.Concat(groups...), 1))
	}
	return groups
}

// pairLevel is the level that holds a trial's pair in results.
const pairLevel = "pair"

// Pairs returns the number of trials of a cell in a block.
func (s Study) Pairs() int {
	if n := s.Topology.Hosts; s.AllPairs {
		return s.roundsPerBlock() * (n / 2)
	}
	return 1
}

// Turns returns how many trials of a cell, or groups of simultaneous ones, follow each other in a block.
func (s Study) Turns() int {
	if s.AllPairs && !s.OneAtATime {
		return s.roundsPerBlock()
	}
	return s.Pairs()
}

func ParsePairs(s string) (all bool, err error) {
	if s != "one" && s != "all" {
		return false, fmt.Errorf("invalid value %q: want one or all", s)
	}
	return s == "all", nil
}

// pairs reports whether all pairs are measured; its text is "one" or "all".
type pairs bool

func (p *pairs) UnmarshalText(b []byte) error {
	all, err := ParsePairs(string(b))
	*p = pairs(all)
	return err
}

func (p pairs) String() string {
	if p {
		return "all"
	}
	return "one"
}
