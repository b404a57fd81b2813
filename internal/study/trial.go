package study

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
)

type Cell struct {
	Network string            // the Name of a network
	Probe   string            // the Name of a probe
	Levels  map[string]string // by factor; nil when no factor applies to the probe
}

type Trial struct {
	ID    string // unique in a study, safe as a file name everywhere
	Block int    // counted from 1
	Pair  Pair   // zero unless the study measures all pairs
	Cell
}

// Cells returns the full factorial of s: networks in order, then probes, then factor levels in the
// order of factor names, the last one changing fastest. A factor is omitted for probes to which it
// does not apply (applies receives the probe's Kind), so no cell appears twice. With a nil applies,
// all factors apply to all probes.
func (s Study) Cells(applies func(probe, factor string) bool) []Cell {
	var cells []Cell
	factors := slices.Sorted(maps.Keys(s.Factors))
	for _, n := range s.Networks {
		for _, p := range s.Probes {
			some := []Cell{{Network: n.Name, Probe: p.Name}}
			for _, f := range factors {
				if applies == nil || applies(p.Kind, f) {
					some = cross(some, f, s.Factors[f])
				}
			}
			some = slices.DeleteFunc(some, func(c Cell) bool { return !s.happens(c.Levels, n.Name) })
			cells = append(cells, some...)
		}
	}
	return cells
}

func cross(cells []Cell, factor string, levels []string) []Cell {
	var all []Cell
	for _, c := range cells {
		for _, l := range levels {
			x := c
			x.Levels = map[string]string{factor: l}
			maps.Copy(x.Levels, c.Levels)
			all = append(all, x)
		}
	}
	return all
}

// Block returns the trials of one block, counted from 1, in a random order that depends only on
// seed and block: PCG-DXSM (math/rand/v2) seeded with both, bounded by multiplication,
// Fisher-Yates. Any change here breaks resumption, because a resumed run would continue in another
// order. TestOrderIsPinned guards this.
//
// The IDs of the same cells do not depend on the seed.
func Block(seed uint64, block int, cells []Cell) []Trial {
	trials := make([]Trial, len(cells))
	for i, id := range ids(cells) {
		trials[i] = Trial{ID: fmt.Sprintf("b%03d-%s", block, id), Block: block, Cell: cells[i]}
	}
	shuffle(seed, block, trials)
	return trials
}

func shuffle[T any](seed uint64, block int, list []T) {
	shuffleBy(rand.NewPCG(seed, uint64(block)), list)
}

func shuffleBy[T any](src *rand.PCG, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := below(src, uint64(i+1))
		list[i], list[j] = list[j], list[i]
	}
}

// Swapped reports whether client and server change places in a block, counted from 1. The seed
// picks one of every two consecutive blocks, so half of any even number of blocks are swapped, even
// if a run gets more blocks than planned.
func (s Study) Swapped(block int) bool {
	// This seed differs from all of Block's: pairs count down from the largest number.
	coin := rand.NewPCG(s.Seed, -uint64((block+1)/2)).Uint64()>>63 == 1
	return s.Swap && coin == (block%2 == 1)
}

// below returns a number in [0,n), all equally likely (Lemire, Fast Random Integer Generation in an
// Interval, 2019). math/rand/v2 guarantees the output of its generators, but not of its methods.
func below(src *rand.PCG, n uint64) uint64 {
	for {
		hi, lo := bits.Mul64(src.Uint64(), n)
		if lo >= -n%n {
			return hi
		}
	}
}

// maxID bounds an ID without its block. The smallest file name limit among file systems in use is
// 143 bytes (eCryptfs).
const maxID = 110

// ids returns a name for each cell, such as "vxlan-overlay-udp-stream-size=1000". Names that are
// too long or not unique get a hash of the whole cell; some file systems ignore case.
func ids(cells []Cell) []string {
	out := make([]string, len(cells))
	count := map[string]int{}
	for i, c := range cells {
		out[i] = c.name()
		count[strings.ToLower(out[i])]++
	}
	for i, c := range cells {
		end := out[i][len(out[i])-1]
		if count[strings.ToLower(out[i])] > 1 || len(out[i]) > maxID || end == '.' {
			out[i] = c.hashed()
		}
	}
	return out
}

func (c Cell) name() string {
	parts := []string{c.Network, c.Probe}
	for _, f := range slices.Sorted(maps.Keys(c.Levels)) {
		parts = append(parts, f+"="+c.Levels[f])
	}
	return strings.Map(safe, strings.Join(parts, "-"))
}

// hashed returns the name with a hash of the whole cell.
func (c Cell) hashed() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", c.Network, c.Probe, c.Levels)) // %q sorts a map
	return fmt.Sprintf("%.*s-%x", maxID-17, c.name(), sum[:8])
}

// ID names a use of c other than a trial, such as preparation. It is safe as a file name and
// differs from all trial IDs.
func (c Cell) ID(purpose string) string { return purpose + "-" + c.hashed() }

// safe keeps characters that need no escaping in file names and URLs.
func safe(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("-._+=", r):
		return r
	}
	return '_'
}
