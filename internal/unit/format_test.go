package unit

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{20.7e9, "bit/s", "20.7 Gbit/s"},
		{941.48e6, "bit/s", "941 Mbit/s"},
		{999.6e6, "bit/s", "1 Gbit/s"}, // not 1000 Mbit/s
		{1000, "bit/s", "1 kbit/s"},
		{0.25, "bit/s", "0.250 bit/s"},
		{3.52e-6, "s", "3.52 µs"},
		{0.045, "s", "45 ms"},
		{12.34, "s", "12.3 s"},
		{1234, "s", "1234 s"},
		{277e3, "packet/s", "277 kpacket/s"},
		{14200, "1/s", "14.2 k/s"},
		{500, "1/s", "500/s"},
		{14200, "transaction/s", "14.2 ktransaction/s"},
		{1.2, "core", "1.2 cores"},
		{1, "core", "1 core"},
		{0.5, "core", "0.5 cores"},
		{2.51e-11, "s/bit", "25.1 ms/Gbit"},
		{1.52e-6, "s/packet", "1.52 µs/packet"},
		{70e-6, "s/transaction", "70 µs/transaction"},
		{0.031, "1", "0.031"},
		{0.9655, "1", "0.966"},
		{12345, "1", "12345"},
		{1e-7, "1", "1e-07"},
		{1400, "byte", "1.40 kB"},
		{64, "byte", "64 B"},
		{0, "bit/s", "0 bit/s"},
		{math.Copysign(0, -1), "1", "0"},
		{-3.52e-6, "s", "-3.52 µs"},
		{-0.031, "1", "-0.031"},
		{math.NaN(), "s", "n/a"},
		{math.Inf(1), "bit/s", "n/a"},
		{math.MaxFloat64, "s/bit", "1.8e+308 s/bit"},
		{7.5, "furlong", "7.50 furlong"}, // a unit of a foreign tool
	} {
		if got := Format(c.v, c.unit); got != c.want {
			t.Errorf("Format(%v, %q) = %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		max    float64
		unit   string
		factor float64
		label  string
	}{
		{20.7e9, "bit/s", 1e-9, "Gbit/s"},
		{3.52e-6, "s", 1e6, "µs"},
		{2.51e-11, "s/bit", 1e12, "ms/Gbit"},
		{0, "s", 1, "s"},
		{0, "s/bit", 1e9, "s/Gbit"},
		{math.NaN(), "bit/s", 1, "bit/s"},
		{1.2, "core", 1, "cores"},
		{0.5, "1", 1, ""},
		{1e30, "bit/s", 1e-15, "Pbit/s"},
		{1e-30, "s", 1e12, "ps"},
	} {
		factor, label := Scale(c.max, c.unit)
		if math.Abs(factor/c.factor-1) > 1e-12 || label != c.label {
			t.Errorf("Scale(%v, %q) = %v, %q, want %v, %q", c.max, c.unit, factor, label, c.factor, c.label)
		}
	}
}

// Format's output is the value again, to half of the third digit.
func TestFormatKeepsThreeDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, unit := range []string{"bit/s", "packet/s", "1/s", "s", "s/bit", "s/packet", "core", "byte", "1"} {
		for range 2000 {
			v := math.Pow(10, r.Float64()*15-6)
			if unit == "s/bit" {
				v *= 1e-9
			}
			text := Format(v, unit)
			number, _, _ := strings.Cut(strings.Replace(text, "/s", " ", 1), " ")
			got, err := strconv.ParseFloat(number, 64)
			if err != nil {
				t.Fatalf("Format(%v, %q) = %q: %v", v, unit, text, err)
			}
			factor, _ := Scale(v, unit)
			if e := math.Abs(got/(v*factor) - 1); e > 0.0051 {
				t.Errorf("Format(%v, %q) = %q is off by %.2g", v, unit, text, e)
			}
		}
	}
}

func TestParseReadsFormat(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		v := math.Pow(10, r.Float64()*14)
		got, err := ParseRate(Format(v, "bit/s"))
		if err != nil || math.Abs(got/v-1) > 0.0051 {
			t.Errorf("ParseRate(Format(%v)) = %v, %v", v, got, err)
		}
	}
}
