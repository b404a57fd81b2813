package event

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestSizes(t *testing.T) {
	s, err := ParseSizes("# bytes weight\n100 3\n\n 1000\t1\n")
	if err != nil || s.String() != "100 3, 1000 1" || s.Mean() != 325 {
		t.Fatalf("%v, %v, mean %g", s, err, s.Mean())
	}
	if again, err := ParseSizes(s.String()); err != nil || again.String() != s.String() {
		t.Errorf("%v, %v", again, err)
	}
	drawn, a, b := map[int]int{}, rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		n := s.Draw(a)
		if drawn[n]++; n != s.Draw(b) {
			t.Fatal("one seed gives two orders")
		}
	}
	if len(drawn) != 2 || drawn[100] < 7300 || drawn[100] > 7700 {
		t.Errorf("drawn %v, want three of four 100", drawn)
	}
	for text, want := range map[string]string{
		"": "no sizes", "# 1 2\n": "no sizes", "1": "line 1 has 1 words", "5 5\n1 2 3": "line 2 has 3 words", "0 1": "line 1, 0 1: want bytes (1 to 1048576) and their weight (1 to 1000000000)",
		"1048577 1": "line 1, 1048577 1: want", "1 0": "line 1, 1 0: want", "1 1000000001": "line 1, 1 1000000001: want", "1 1.5": "whole numbers", "root:x:0 1": "line 1, (no number) 1: want bytes",
		strings.Repeat("1 1\n", MostSizes+1): "line 1001 is one more than the 1000 sizes",
	} {
		if _, err := ParseSizes(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

func FuzzSizes(f *testing.F) {
	f.Add("100 3\n1000 1", uint64(1))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		s, err := ParseSizes(text)
		if err != nil {
			return
		}
		if n := s.Draw(rand.New(rand.NewPCG(seed, 0))); n < 1 || n > MaxBody || !strings.Contains(s.String(), fmt.Sprint(n)) {
			t.Errorf("%q: drew %d", text, n)
		}
		if again, err := ParseSizes(s.String()); err != nil || again.Mean() != s.Mean() || s.Mean() < 1 || s.Mean() > MaxBody {
			t.Errorf("%q: %v, %v", text, again, err)
		}
	})
}
