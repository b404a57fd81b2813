package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/failure"
)

func TestSplitList(t *testing.T) {
	for in, want := range map[string][]string{
		"host":                      {"host"},
		"host,bridge":               {"host", "bridge"},
		"host,{use: vxlan, vni: 7}": {"host", "{use: vxlan, vni: 7}"},
		"{a: [1,2], b: {c: 1,d: 2}},x": {
			"{a: [1,2], b: {c: 1,d: 2}}", "x"},
		"": {""},
	} {
		if got := splitList(in); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func status(err error) failure.Kind { return failure.Kind(failure.Status(err)) }

func TestProgressLine(t *testing.T) {
	for _, c := range []struct{ done, total, full int }{{0, 0, 0}, {0, 10, 0}, {5, 10, 10}, {10, 10, 20}, {30, 10, 20}} {
		got := bar(c.done, c.total)
		if strings.Count(got, "█") != c.full || len([]rune(got)) != 20 {
			t.Errorf("%d of %d: %s", c.done, c.total, got)
		}
	}
	for d, want := range map[time.Duration]string{0: "", -time.Second: "", 90 * time.Second: ", 1m30s left"} {
		if got := said(new(progress).left(d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	p := progress{name: "run 2 of 5", series: func(d time.Duration) time.Duration { return d + time.Hour }}
	if got, want := said(p.prefix()+"x"+p.left(time.Minute)), "run 2 of 5, x, 1m0s left, 1h1m0s for all runs"; got != want {
		t.Errorf("in a series: %q, want %q", got, want)
	}
}
