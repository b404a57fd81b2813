// Package unit reads and prints quantities. Inside the program every number is in a base unit
// (bit/s, packet/s, 1/s, s, s/bit, s/packet, core, byte, 1); only text for people is scaled. The
// package must not compute with quantities.
package unit

import (
	"math"
	"strconv"
	"strings"
)

var (
	large = []string{"", "k", "M", "G", "T", "P"}
	small = []string{"", "m", "µ", "n", "p"}
)

// Format prints v, which is in a base unit: "20.7 Gbit/s", "3.52 µs", "25.1 ms/Gbit". It keeps
// three significant digits, drops decimals that are all zero ("45 ms"), and keeps every digit
// before the point ("1234 s"). Cores and plain numbers lose every trailing zero ("1.2 cores",
// "0.98"). Non-finite values are "n/a".
func Format(v float64, unit string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "n/a"
	}
	factor, label := Scale(v, unit)
	if math.IsInf(v*factor, 0) {
		factor, label = 1, unit
	}
	number := digits(v*factor, unit == "1" || unit == "core")
	switch {
	case label == "":
		return number
	case label[0] == '/':
		return number + label
	case label == "cores" && number == "1":
		label = "core"
	}
	return number + " " + label
}

// Scale chooses the prefix for an axis or column whose largest value is max: value*factor is in
// label. CPU time per bit is per gigabit, because picoseconds per bit are hard to picture. The
// label of "1" is empty.
func Scale(max float64, unit string) (factor float64, label string) {
	factor, label = 1, unit
	switch unit {
	case "1":
		return 1, ""
	case "core":
		return 1, "cores"
	case "byte":
		label = "B"
	case "1/s":
		label = "/s"
	case "s/bit":
		factor, label = 1e9, "s/Gbit"
	}
	power := int(math.Floor(float64(exponent(max*factor)) / 3)) // of 1000, below max as it is printed
	switch {
	case unit == "s" || strings.HasPrefix(unit, "s/"):
		i := clamp(-power, len(small))
		return factor * math.Pow10(3*i), small[i] + label
	case unit == "byte" || unit == "bit" || unit == "packet" || strings.HasSuffix(unit, "/s"):
		i := clamp(power, len(large))
		return factor * math.Pow10(-3*i), large[i] + label
	}
	return factor, label
}

func clamp(i, n int) int { return max(0, min(i, n-1)) }

// exponent returns the power of ten of the first digit of v, rounded to three digits. It reads the
// printed number, because math.Log10(1000) is less than 3.
func exponent(v float64) int {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	_, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', 2, 64), "e")
	n, _ := strconv.Atoi(e)
	return n
}

func digits(v float64, trim bool) string {
	if v == 0 {
		return "0" // not "-0"
	}
	e := exponent(v)
	if e < -5 || e > 5 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	s := strconv.FormatFloat(v, 'f', max(0, 2-e), 64)
	whole, dec, _ := strings.Cut(s, ".")
	if trim {
		dec = strings.TrimRight(dec, "0")
	}
	if strings.Trim(dec, "0") == "" {
		return whole
	}
	return whole + "." + dec
}

// Decimals returns the number of decimals, up to most, that gives the largest of the values times
// factor three significant digits and the smallest two. Zeros do not count.
func Decimals(most int, factor float64, vs ...float64) int {
	lo, hi := math.Inf(1), 0.0
	for _, v := range vs {
		if a := math.Abs(v * factor); a > 0 {
			lo, hi = min(lo, a), max(hi, a)
		}
	}
	if hi == 0 {
		return 0
	}
	exp := func(v float64) int { return int(math.Floor(math.Log10(v))) }
	return min(max(0, 2-exp(hi), 1-exp(lo)), most)
}

// Percent formats a share with up to six significant digits, as ParsePercent reads it: "0.5%".
func Percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 6, 64) + "%" }
