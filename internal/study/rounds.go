package study

import (
	"math/rand/v2"
	"slices"
)

// allRounds is how many rounds of disjoint pairs cover all pairs of n hosts (see Rounds).
func allRounds(n int) int {
	if n%2 == 1 && n > 1 {
		return n
	}
	return max(0, n-1)
}

func (s Study) roundsPerBlock() int {
	all := allRounds(s.Topology.Hosts)
	if s.Rounds > 0 {
		return min(s.Rounds, all)
	}
	return all
}

// rounds returns the rounds of a block, counted from 1. No pair occurs twice.
//
// Chosen rounds depend on the seed, the block and the zones alone. Without zones they are those of a
// tournament with random numbers for the hosts, so that a pair is not measured again before all others
// have been. With zones, they alternate between pairs inside zones and pairs across them.
func (s Study) rounds(block int) [][]Pair {
	n, k := s.Topology.Hosts, s.roundsPerBlock()
	if k == allRounds(n) {
		return Rounds(n)
	}
	if zones := slices.Compact(slices.Sorted(slices.Values(s.Zones))); len(zones) > 1 && len(s.Zones) == n {
		if rounds := s.acrossZones(block, k); rounds != nil {
			return rounds
		}
	}
	perCycle := allRounds(n) / k // blocks that share one numbering; a cycle never ends inside a block
	cycle, at := (block-1)/perCycle, (block-1)%perCycle*k
	order := s.shuffled(roundStream + uint64(cycle))
	rounds := make([][]Pair, k)
	for r := range rounds {
		for _, p := range roundOf(n, at+r) {
			rounds[r] = append(rounds[r], pairOf(order[p.A-1], order[p.B-1]))
		}
	}
	return rounds
}

// Streams of the generator that no other order of a study uses (see Block and Swapped).
const (
	roundStream = 1 << 40
	zoneStream  = 1 << 41
	idleStream  = 1 << 42
)

// shuffled returns the numbers of the hosts from 0 in a random order.
func (s Study) shuffled(stream uint64) []int {
	order := make([]int, s.Topology.Hosts)
	for i := range order {
		order[i] = i
	}
	shuffleBy(rand.NewPCG(s.Seed, stream), order)
	return order
}

// acrossZones returns k rounds that pair as many hosts as possible inside zones or across them, in the
// proportion of such pairs among all. It returns nil if the zones leave hosts without a partner that
// they have not met in this block.
func (s Study) acrossZones(block, k int) [][]Pair {
	n, inside := s.Topology.Hosts, s.shareInside()
	src := rand.NewPCG(s.Seed, zoneStream+uint64(block))
	idle := s.shuffled(idleStream)
	met := map[Pair]bool{}
	var rounds [][]Pair
	for r := range k {
		at := (block-1)*k + r
		hosts := make([]int, 0, n)
		for h := range n {
			if n%2 == 0 || h != idle[at%n] { // with an odd number, each host is idle in turn
				hosts = append(hosts, h)
			}
		}
		var round []Pair
		for tries := 0; len(round) < n/2; tries++ {
			if tries == maxTries {
				return nil
			}
			shuffleBy(src, hosts)
			round = s.match(hosts, inside(at+1) > inside(at), met)
		}
		for _, p := range round {
			met[p] = true
		}
		rounds = append(rounds, round)
	}
	return rounds
}

// shareInside returns how many of the first rounds are inside zones. Those leave over a host in every zone with an odd
// number of hosts; rounds across zones also pair hosts of one zone if that zone has more than half of all.
func (s Study) shareInside() func(rounds int) int {
	n, sizes, pairs := s.Topology.Hosts, map[string]int{}, 0
	for _, z := range s.Zones {
		pairs += sizes[z]
		sizes[z]++
	}
	odd, surplus := 0, 0 // hosts
	for _, size := range sizes {
		odd += size % 2
		surplus = max(surplus, 2*size-n)
	}
	// The share p for which p (n-odd)/n + (1-p) surplus/n is that of pairs inside zones among all.
	all := n * (n - 1) / 2
	num, den := max(0, pairs*n-surplus*all), max(1, all*(n-odd-surplus))
	return func(rounds int) int { return rounds * min(num, den) / den }
}

// maxTries bounds the search for a round in which every host has a new partner. With many more hosts
// than rounds, one or two orders suffice.
const maxTries = 100

// match pairs hosts in their order with the next one of the wanted kind that they have not met, and the
// rest with any.
func (s Study) match(hosts []int, inside bool, met map[Pair]bool) (round []Pair) {
	left := slices.Clone(hosts)
	for _, strict := range []bool{true, false} {
		var alone []int
		for len(left) > 0 {
			a := left[0]
			i := 1 + slices.IndexFunc(left[1:], func(b int) bool {
				return !met[pairOf(a, b)] && (!strict || (s.Zones[a] == s.Zones[b]) == inside)
			})
			if i == 0 {
				alone = append(alone, a)
			} else {
				round = append(round, pairOf(a, left[i]))
				left = slices.Delete(left, i, i+1)
			}
			left = left[1:]
		}
		left = alone
	}
	return round
}
