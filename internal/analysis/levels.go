package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/unit"
)

// key returns a unique name of a combination of levels, without the factors in but.
func key(m map[string]string, but ...string) string {
	names := make([]string, 0, 8) // on the stack
	size := 0
	for k, v := range m {
		if !slices.Contains(but, k) {
			names, size = append(names, k), size+len(k)+len(v)+2
		}
	}
	slices.Sort(names)
	b := make([]byte, 0, size)
	for _, k := range names {
		b = append(append(append(append(b, k...), 0), m[k]...), 1)
	}
	return string(b)
}

// positions returns a function from a name to its place in list, len(list) for other names.
func positions(list []string) func(string) int {
	return func(s string) int {
		if i := slices.Index(list, s); i >= 0 {
			return i
		}
		return len(list)
	}
}

// order sorts names: those in first, in its order, then the others.
func order(names, first []string) []string {
	position := positions(first)
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(position(a), position(b)), Natural(a, b))
	})
	return names
}

func compareLevels(a, b map[string]string) int {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if c := compareLevel(a[k], b[k]); c != 0 {
			return c
		}
	}
	return 0
}

func compareLevel(a, b string) int {
	x, okX := magnitude(a)
	y, okY := magnitude(b)
	if okX && okY && x != y {
		return cmp.Compare(x, y)
	}
	return Natural(a, b)
}

// magnitude orders levels: a Quantity, or a time in seconds.
func magnitude(s string) (float64, bool) {
	if v, ok := Quantity(s); ok {
		return v, true
	}
	d, err := time.ParseDuration(s)
	return d.Seconds(), err == nil
}

// Quantity reads a level that is a number, a percentage, a size or a rate, the last two in base units.
func Quantity(s string) (float64, bool) {
	if v, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64); err == nil && v-v == 0 { // neither NaN nor Inf
		return v, true
	}
	if v, err := unit.ParseBytes(s); err == nil {
		return float64(v), true
	}
	if v, err := unit.ParseRate(s); err == nil {
		return v, true
	}
	return 0, false
}

// Natural compares strings with their numbers by value: "9" before "10", "h2" before "h10".
func Natural(a, b string) int {
	whole := cmp.Compare(a, b)
	for a != "" && b != "" {
		da, ra := digits(a)
		db, rb := digits(b)
		if da != "" && db != "" {
			ta, tb := strings.TrimLeft(da, "0"), strings.TrimLeft(db, "0")
			if c := cmp.Or(cmp.Compare(len(ta), len(tb)), cmp.Compare(ta, tb)); c != 0 {
				return c
			}
			a, b = ra, rb
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), whole)
}

func digits(s string) (number, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}
