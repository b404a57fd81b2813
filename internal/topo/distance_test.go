package topo

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestDistance(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		d    Distance
		want string
	}{
		{Distance{}, ""},
		{Distance{Delay: time.Second, Jitter: time.Second, Loss: 0.999}, ""},
		{Distance{Delay: -ms}, "invalid delay -1ms: want whole microseconds from 0s to 1s"},
		{Distance{Delay: time.Second + ms}, "invalid delay 1.001s"},
		{Distance{Delay: ms + 1}, "invalid delay 1.000001ms"},
		{Distance{Delay: ms, Jitter: 2 * ms}, "invalid jitter 2ms with a delay of 1ms: want whole microseconds, at most the delay"},
		{Distance{Delay: ms, Jitter: -1}, "invalid jitter -1ns"},
		{Distance{Loss: 1}, "invalid loss 100 %: want 0 % or more, and less than 100 %"},
		{Distance{Loss: -0.1}, "invalid loss -10 %"},
		{Distance{Loss: math.NaN()}, "invalid loss NaN %"},
	} {
		err := c.d.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.d, err, c.want)
		}
		tp, err := New(Spec{Distance: c.d})
		if (err == nil) != (c.want == "") || err == nil && tp.Far != (c.d != Distance{}) {
			t.Errorf("%+v: topology %+v, %v", c.d, tp, err)
		}
	}
	if got := (Distance{Delay: 5 * ms, Jitter: ms}).LeastRTT(); got != 8*ms {
		t.Errorf("an answer after %v is possible, want 8ms", got)
	}
	if _, err := New(Spec{Hosts: 1, Far: true}); err == nil || !strings.Contains(err.Error(), "(hosts: 2)") {
		t.Errorf("one host: %v", err)
	}
}

// On a line, distances add up over the segments between two hosts. A host is not away from itself.
func TestBetween(t *testing.T) {
	ms := time.Millisecond
	line, err := New(Spec{Hosts: 4, Shape: Line, Distance: Distance{Delay: 10 * ms, Jitter: ms, Loss: 0.5}, Delays: []time.Duration{ms, 0, 3 * ms}})
	if err != nil {
		t.Fatal(err)
	}
	flat, err := New(Spec{Hosts: 3, Distance: Distance{Delay: ms}, Delays: []time.Duration{ms}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		t    Topology
		a, b string
		want Distance
	}{
		{line, "h1", "h2", Distance{11 * ms, ms, 0.5}},
		{line, "h4", "h1", Distance{34 * ms, 3 * ms, 0.875}},
		{line, "h2", "h2", Distance{}},
		{flat, "h3", "h1", Distance{Delay: ms}},
		{flat, "h1", "h1", Distance{}},
	} {
		if got := c.t.Between(c.a, c.b); got != c.want {
			t.Errorf("%s to %s: %+v, want %+v", c.a, c.b, got, c.want)
		}
	}
	if _, err := New(Spec{Shape: Line, Delays: []time.Duration{2 * time.Second}}); err == nil || !strings.Contains(err.Error(), "segment of the line: invalid delay 2s") {
		t.Errorf("a delay of 2 s: %v", err)
	}
	if tp, err := New(Spec{Shape: Line, Delays: []time.Duration{0}}); err != nil || tp.Far {
		t.Errorf("delays of 0: %+v, %v", tp, err)
	}
}
