package unit

import (
	"math"
	"strings"
	"testing"
)

func TestParseRate(t *testing.T) {
	for _, c := range []struct {
		in   string
		want float64
		err  string // a part of the message
	}{
		{in: "1gbit", want: 1e9},
		{in: "10Gbit/s", want: 1e10},
		{in: "950 kbit", want: 950e3},
		{in: "1e9", want: 1e9},
		{in: "1.5mbit", want: 1.5e6},
		{in: " 2.5 GBIT/S ", want: 2.5e9},
		{in: "100M", want: 100e6},
		{in: ".5bit", want: 0.5},
		{in: "0", want: 0},
		{in: "1e3kbit", want: 1e6},
		{in: "", err: "not a number"},
		{in: "gbit", err: "not a number"},
		{in: "-1gbit", err: "negative"},
		{in: "-0", err: "negative"},
		{in: "inf", err: "not a number"},
		{in: "NaN", err: "not a number"},
		{in: "0x10", err: "not a number"},
		{in: "1_000", err: "not a number"},
		{in: "1e400", err: "more than"},
		{in: "1e300gbit", err: "more than"},
		{in: "1e308tbit", err: "more than"},
		{in: "10gbps", err: "bit, kbit, mbit, gbit, tbit"},
		{in: "10/s", err: "not one of"},
		{in: "1 \u212abit", err: "not a number"}, // the Kelvin sign
	} {
		got, err := ParseRate(c.in)
		check(t, c.in, got, c.want, err, c.err)
	}
}

func TestParseBytes(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int
		err  string
	}{
		{in: "1400", want: 1400},
		{in: "1400B", want: 1400},
		{in: "9k", want: 9000},
		{in: "9 kB", want: 9000},
		{in: "4.1k", want: 4100},
		{in: "64KiB", want: 65536},
		{in: "1.5Mi", want: 1572864},
		{in: "2GiB", want: 2 << 30},
		{in: "0", want: 0},
		{in: "9007199254740992", want: 1 << 53},
		{in: "9007199254740994", err: "more than"},
		{in: "1e18", err: "more than"},
		{in: "1.5", err: "whole"},
		{in: "1000000000.5", err: "whole"},
		{in: "0.0001", err: "whole"},
		{in: "64kbit", err: "b, kb, kib, mb, mib, gb, gib"},
		{in: "-1", err: "negative"},
		{in: "9kk", err: "not one of"},
	} {
		got, err := ParseBytes(c.in)
		check(t, c.in, float64(got), float64(c.want), err, c.err)
	}
}

func TestParsePercent(t *testing.T) {
	for _, c := range []struct {
		in   string
		want float64
		err  string
	}{
		{in: "2%", want: 0.02},
		{in: "0.02", want: 0.02},
		{in: "150 %", want: 1.5},
		{in: "1", want: 1},
		{in: "0", want: 0},
		{in: "2", err: "write 2% or 0.02"},
		{in: "2k", err: "not %"},
		{in: "%", err: "not a number"},
		{in: "-2%", err: "negative"},
	} {
		got, err := ParsePercent(c.in)
		check(t, c.in, got, c.want, err, c.err)
	}
}

func check(t *testing.T, in string, got, want float64, err error, message string) {
	t.Helper()
	switch {
	case message == "" && err != nil:
		t.Errorf("%q: %v", in, err)
	case message == "" && got != want:
		t.Errorf("%q: got %v, want %v", in, got, want)
	case message != "" && err == nil:
		t.Errorf("%q: got %v, want an error with %q", in, got, message)
	case message != "" && !strings.Contains(err.Error(), message):
		t.Errorf("%q: %q does not contain %q", in, err, message)
	}
}

var seeds = []string{"1gbit", "10Gbit/s", "1e9", "64KiB", "2%", "inf", "NaN", "-1", "1e999", "0x1p-2", "1e308tbit", ".", "1e", "9223372036854775808"}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rate, err := ParseRate(s)
		finite(t, "ParseRate", s, rate, err)
		share, err := ParsePercent(s)
		finite(t, "ParsePercent", s, share, err)
		size, err := ParseBytes(s)
		finite(t, "ParseBytes", s, float64(size), err)
	})
}

func finite(t *testing.T, what, s string, v float64, err error) {
	t.Helper()
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 || math.Signbit(v) {
		t.Errorf("%s(%q) = %v, %v", what, s, v, err)
	}
	if err != nil && v != 0 {
		t.Errorf("%s(%q) = %v and the error %v", what, s, v, err)
	}
}
