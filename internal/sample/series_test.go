package sample

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func series() Series {
	return Series{Format: SeriesFormat, Host: "h", Begin: 1e8, End: 3e8, At: []int64{0, 1e8, 2e8, 3e8, 4e8}, CPUs: 2,
		Modes:   []Mode{{"cpu0", "user", []int{1, 10, 9, 10, -1}[:4]}},
		Threads: []Thread{{PID: 7, TID: 8, Place: "h2", Name: "iperf3", Used: []int{0, 100000, 90000, 50000}}},
		Devices: []Device{{"server", "h2", "eth0", "rx", []int{0, 1, 2, 3}, []int{0, 1, 1, 1}}}}
}

func TestSeriesRoundTrip(t *testing.T) {
	want := []Series{series(), series()}
	want[1].Host = "other"
	b, err := FormatSeries(want)
	if err != nil {
		t.Fatal(err)
	}
	var p SeriesParser
	for _, parse := range []func([]byte) ([]Series, error){ParseSeries, p.Parse, p.Parse} {
		if got, err := parse(b); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if b, err := FormatSeries(nil); len(b) > 0 || err != nil {
		t.Errorf("none is %q, %v", b, err)
	}
}

func TestSeriesRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Series)
		want   string
	}{
		"newer":           {func(s *Series) { s.Format++ }, "use a newer weir"},
		"no format":       {func(s *Series) { s.Format = 0 }, "format 0"},
		"one sample":      {func(s *Series) { s.At = s.At[:1] }, "1 samples"},
		"not from 0":      {func(s *Series) { s.At[0] = 1 }, "the first at 0"},
		"time steps back": {func(s *Series) { s.At[2] = 1 }, "ascending"},
		"endless":         {func(s *Series) { s.At[4] = math.MaxInt64 }, "ascending times up to"},
		"no window":       {func(s *Series) { s.End = s.Begin }, "a window from"},
		"outside":         {func(s *Series) { s.End = 5e8 }, "a window from"},
		"short column":    {func(s *Series) { s.Threads[0].Used = nil }, "iperf3 has 0 numbers: want 4"},
		"negative":        {func(s *Series) { s.Modes[0].Ticks[1] = -2 }, "cpu0 user has -2"},
		"huge":            {func(s *Series) { s.Devices[0].Bytes[1] = math.MaxInt64 }, "eth0 bytes has"},
	} {
		s := series()
		c.change(&s)
		b, err := FormatSeries([]Series{s})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseSeries(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, junk := range []string{"", "{}", "[]", "{\"format\":1", "null"} {
		if s, err := ParseSeries([]byte(junk)); err == nil {
			t.Errorf("%q: %+v", junk, s)
		}
	}
}

// A share is of the window, however the samples lie around it.
func TestShare(t *testing.T) {
	for name, c := range map[string]struct {
		begin, end int64
		used       []int
		share      float64
		ok         bool
	}{
		"samples at the edges": {1e8, 3e8, []int{7, 100000, 50000, 7}, 0.75, true},
		"edges inside":         {5e7, 25e7, []int{100000, 100000, 0, 7}, 0.75, true},
		"began in the window":  {1e8, 4e8, []int{-1, -1, 80000, 80000}, 0.8, false},
		"ended at the end":     {1e8, 4e8, []int{0, 80000, 80000, -1}, 0.8, false},
		"mostly known":         {0, 4e8, []int{90000, 90000, 90000, -1}, 0.9, true},
	} {
		s := series()
		s.Begin, s.End = c.begin, c.end
		if share, ok := s.Share(Thread{Used: c.used}); ok != c.ok || math.Abs(share-c.share) > 1e-9 {
			t.Errorf("%s: %v, %v; want %v, %v", name, share, ok, c.share, c.ok)
		}
	}
}

func FuzzSeries(f *testing.F) {
	b, err := FormatSeries([]Series{series()})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"format":1,"at":[0,1],"end":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := ParseSeries(b)
		if err != nil {
			return
		}
		for _, s := range all {
			for _, th := range s.Threads {
				if share, ok := s.Share(th); ok && (math.IsNaN(share) || math.IsInf(share, 0) || share < 0) {
					t.Errorf("%s: %v", b, share)
				}
			}
		}
		again, err := FormatSeries(all)
		if err != nil {
			t.Fatal(err)
		}
		same, err := new(SeriesParser).Parse(again)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := FormatSeries(same); err != nil || string(b) != string(again) {
			t.Errorf("%s became %s, %v", again, b, err)
		}
	})
}
