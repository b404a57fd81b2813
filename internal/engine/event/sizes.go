package event

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Sizes is a distribution of the sizes of answers. The zero value has none.
type Sizes struct {
	bytes   []int
	weights []uint64
	total   uint64
}

// Bounds of Sizes.
const (
	MostSizes  = 1000
	mostWeight = 1_000_000_000
)

var wantSizes = fmt.Sprintf("bytes (1 to %d) and their weight (1 to %d), whole numbers such as 1024 5", MaxBody, mostWeight)

// number is a word of a histogram as an error quotes it. It quotes only numbers, because the file may hold something
// that nobody meant to show.
func number(word string) string {
	if len(word) > 20 || strings.Trim(word, "+-.0123456789") != "" {
		return "(no number)"
	}
	return word
}

// ParseSizes reads a histogram: a size in bytes, 1 to MaxBody, and its weight, 1 to 10^9, per line, or between commas. Lines that are empty or
// begin with # do not count.
func ParseSizes(text string) (s Sizes, err error) {
	for i, line := range strings.Split(strings.ReplaceAll(text, ",", "\n"), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 2 {
			return Sizes{}, fmt.Errorf("line %d has %d words: want two numbers, %s", i+1, len(words), wantSizes)
		}
		bytes, first := strconv.Atoi(words[0])
		weight, second := strconv.ParseUint(words[1], 10, 64)
		if first != nil || second != nil || bytes < 1 || bytes > MaxBody || weight < 1 || weight > mostWeight {
			return Sizes{}, fmt.Errorf("line %d, %s %s: want %s", i+1, number(words[0]), number(words[1]), wantSizes)
		}
		if s.bytes, s.weights = append(s.bytes, bytes), append(s.weights, weight); len(s.bytes) > MostSizes {
			return Sizes{}, fmt.Errorf("line %d is one more than the %d sizes that weir takes: join neighbors", i+1, MostSizes)
		}
		s.total += weight
	}
	if s.total == 0 {
		return Sizes{}, errors.New("no sizes: write in each line " + wantSizes)
	}
	return s, nil
}

// String is what ParseSizes reads, on one line.
func (s Sizes) String() string {
	var parts []string
	for i := range s.bytes {
		parts = append(parts, fmt.Sprintf("%d %d", s.bytes[i], s.weights[i]))
	}
	return strings.Join(parts, ", ")
}

// Mean returns the expected size, bytes; 0 without sizes.
func (s Sizes) Mean() float64 {
	sum := 0.0
	for i, n := range s.bytes {
		sum += float64(n) * float64(s.weights[i])
	}
	return sum / float64(max(s.total, 1))
}

// Draw returns a random size. s must have some.
func (s Sizes) Draw(r *rand.Rand) int {
	at, i := r.Uint64N(s.total), 0
	for ; at >= s.weights[i]; i++ {
		at -= s.weights[i]
	}
	return s.bytes[i]
}
