package cli

import (
	"slices"
	"testing"

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
