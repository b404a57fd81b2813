package prose

import (
	"math"
	"testing"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
)

func between(center, lo, hi float64) stat.Interval {
	return stat.Interval{Center: center, Lo: lo, Hi: hi, Confidence: 0.95, N: 8}
}

func TestRatios(t *testing.T) {
	for want, i := range map[string]stat.Interval{
		"2.22× [2.15, 2.30]":    between(2.2213, 2.1512, 2.3012),
		"0.970× [0.961, 0.982]": between(0.97, 0.961, 0.982), // two digits would hide its width
		"0.052× [0.011, 0.093]": between(0.052, 0.011, 0.093),
		"14.5× [14.3, 14.7]":    between(14.49, 14.3, 14.68),
		"321× [300, 350]":       between(321.4, 300.2, 349.9),
		"1.20×":                 {Center: 1.2, N: 2},
		"0.8× [0.0, 1.5]":       between(0.83, 0, 1.54),
		"36× [20, 64]":          between(36.26, 20.4, 64.46),
		"1000× [7, 150000]":     between(1045.23, 7.17, 152347.86),
		"440× [260, 730]":       between(435.25, 259.95, 728.76),
		"1.8× [0.9, 2.7]":       between(1.8, 0.94, 2.66),
		"4.80× [1.03, 8.60]":    between(4.8, 1.03, 8.6),
		"1.20× [0.40, ∞)":       between(1.2, 0.4, math.MaxFloat64),
		"n/a×":                  {Center: math.NaN(), N: 1},
	} {
		if got := Times(i); got != want {
			t.Errorf("%+v: %s, want %s", i, got, want)
		}
	}
	if got := Digits(between(14, 13, 15), between(0.97, 0.961, 0.982)); got != 3 {
		t.Errorf("a column has %d digits, and its narrowest interval needs 3", got)
	}
}

// A value and its interval have one unit, and the digits that the interval supports.
func TestMeasured(t *testing.T) {
	for want, c := range map[string]struct {
		stat.Interval
		base string
	}{
		"1.6 [1.3, 2.0] µs":       {between(1.57e-6, 1.32e-6, 1.98e-6), "s"},
		"1.573 [1.571, 1.575] µs": {between(1.573e-6, 1.571e-6, 1.575e-6), "s/packet"},
		"1.50 Gbit/s":             {stat.Interval{Center: 1.5e9, N: 1}, "bit/s"},
		"218 [176, 261] ns":       {between(218e-9, 176e-9, 261e-9), "s"},
		"44.0 [44.0, 44.0] kB":    {between(44e3, 44e3, 44e3), "byte"},
		"0.0 [-1.0, 1.0] s":       {between(0, -1, 1), "s"},
		"51 [43, ∞) µs":           {between(51e-6, 43e-6, math.MaxFloat64), "s"},
		"n/a [n/a, n/a] s":        {between(math.Inf(1), math.Inf(1), math.Inf(1)), "s"},
	} {
		if got := Measured(c.Interval, c.base); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"0 %": Percent(0), "<0.01 %": Percent(0.00001), "0.12 %": Percent(0.00123), "-12.3 %": Percent(-0.1234), "100 %": Percent(0.9998), "822 %": Percent(8.216), "1822 %": Percent(18.216), "-1822 %": Percent(-18.216),
		"12 %": Coarse(0.123), "1.2 %": Coarse(0.0123), "998 %": Coarse(9.98), "11×": Coarse(10),
		"12,345": Thousands(12345.4), "-123": Thousands(-123), "0": Thousands(0),
		"97 % [9.5, 98]": PercentWithin(between(0.97, 0.095, 0.98)), "3.1 %": PercentWithin(stat.Interval{Center: 0.0312, N: 1}),
		"99.5": Trim(99.5), "99": Trim(99),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestLists(t *testing.T) {
	for want, got := range map[string]string{
		"a, b":               List([]string{"a", "b"}),
		"a; b, c":            Alternatives([]string{"a", "b, c"}),
		"a, b and c":         And([]string{"a", "b", "c"}),
		"one":                And([]string{"one"}),
		"7 machines":         Machines([]string{"1", "2", "3", "4", "5", "6", "7"}),
		"machines":           Machines(nil),
		"1 block":            Count(1, "block"),
		"2 imported results": Count(2, "imported result"),
		"A. B.":              Sentences("A.", "", "B."),
		"load busy, size 1":  Levels(map[string]string{"size": "1", "load": "busy"}),
		"name, unit":         Comma("name", "unit"),
		"name":               Comma("name", ""),
		"A b.":               string(Sentence("a b")),
		"A b.|":              string(Sentence(" a b.")) + "|",
	} {
		if got := lang.Text(got).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Lists and counts are texts of every language.
func TestChinese(t *testing.T) {
	if got := lang.Text(And([]string{"a", "b", "c"})).In(lang.Chinese); got == "a, b and c" {
		t.Errorf("a list is English: %s", got)
	}
	for noun := range nouns {
		if one, many := lang.Text(Count(1, noun)), lang.Text(Count(2, noun)); one.In(lang.Chinese) == one.String() && noun != "CPU" || many.String() == one.String() {
			t.Errorf("%s: %s, %s", noun, one.In(lang.Chinese), many)
		}
	}
}
