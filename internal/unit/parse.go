package unit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// rates are the units of tc(8) that count bits. Units that count bytes are excluded, because few
// people expect tc's "mbps" to be a megabyte per second.
var rates = map[string]float64{
	"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12,
	"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "tbit": 1e12,
}

var sizes = map[string]float64{
	"": 1, "k": 1e3, "m": 1e6, "g": 1e9,
	"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9,
	"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
}

// maxBytes bounds ParseBytes: a float64 holds every whole number up to it.
const maxBytes = 1 << 53

// ParseRate reads a rate in bit/s: "1gbit", "10Gbit/s", "950 kbit", "1e9", "1.5mbit". Prefixes are
// decimal, as in tc(8), and case does not matter.
func ParseRate(s string) (float64, error) {
	v, u, err := quantity(s)
	if err != nil {
		return 0, fmt.Errorf("rate %q: %w", s, err)
	}
	factor, ok := rates[strings.TrimSuffix(u, "/s")]
	if !ok || u == "/s" {
		return 0, fmt.Errorf("rate %q: unit %q is not one of %s", s, u, known(rates))
	}
	if v *= factor; math.IsInf(v, 0) {
		return 0, fmt.Errorf("rate %q: more than %.3g bit/s", s, math.MaxFloat64)
	}
	return v, nil
}

// ParseBytes reads a size in bytes: "1400", "1400B", "9k" (9000), "64KiB" (65536). Case does not
// matter. The size must be a whole number, at most 2^53.
func ParseBytes(s string) (int, error) {
	v, u, err := quantity(s)
	if err != nil {
		return 0, fmt.Errorf("size %q: %w", s, err)
	}
	factor, ok := sizes[u]
	if !ok {
		return 0, fmt.Errorf("size %q: unit %q is not one of %s", s, u, known(sizes))
	}
	if v *= factor; v > maxBytes {
		return 0, fmt.Errorf("size %q: more than %d bytes", s, maxBytes)
	}
	n := math.Round(v)
	if math.Abs(v-n) > 1e-15*n { // "4.1k" is 4099.9999999999995 in binary
		return 0, fmt.Errorf("size %q: %g is not a whole number of bytes", s, v)
	}
	return int(n), nil
}

// ParsePercent reads a share: "2%" and "0.02" are 0.02. A bare number above 1 is an error, because
// "2" could mean either.
func ParsePercent(s string) (float64, error) {
	v, u, err := quantity(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("share %q: %w", s, err)
	case u == "%":
		return v / 100, nil
	case u != "":
		return 0, fmt.Errorf("share %q: unit %q is not %%", s, u)
	case v > 1:
		return 0, fmt.Errorf("share %q: a number without %% is outside 0..1; write %g%% or %g", s, v, v/100)
	}
	return v, nil
}

// Only these characters, because strconv also reads "Inf", "NaN", "0x1p3" and "1_000".
var quantityRE = regexp.MustCompile(`^\s*(-?)([0-9]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?)\s*([a-zA-Z/%]*)\s*$`)

// quantity splits s into a finite, non-negative number and a unit in lower case.
func quantity(s string) (float64, string, error) {
	m := quantityRE.FindStringSubmatch(s)
	if m == nil {
		return 0, "", fmt.Errorf("not a number with a unit")
	}
	if m[1] != "" {
		return 0, "", fmt.Errorf("negative; at least 0")
	}
	v, err := strconv.ParseFloat(m[2], 64)
	if math.IsInf(v, 0) {
		return 0, "", fmt.Errorf("more than %.3g", math.MaxFloat64)
	}
	if err != nil {
		return 0, "", fmt.Errorf("%q is not a number", m[2])
	}
	return v, strings.ToLower(m[3]), nil
}

// known lists the units that are more than a prefix, the smallest first.
func known(units map[string]float64) string {
	names := slices.SortedFunc(maps.Keys(units), func(a, b string) int {
		return cmp.Or(cmp.Compare(units[a], units[b]), strings.Compare(a, b))
	})
	names = slices.DeleteFunc(names, func(n string) bool { return n == "" || strings.TrimLeft(n, "kmgti") == "" })
	return strings.Join(names, ", ")
}
