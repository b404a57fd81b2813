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
