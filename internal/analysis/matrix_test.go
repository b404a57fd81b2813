package analysis

import (
	"fmt"
	"testing"

	"github.com/weir-bench/weir/record"
)

func TestMatrices(t *testing.T) {
	pairs := func(factor string, levels ...string) (rs []record.Result) {
		for _, l := range levels {
			rs = append(rs, result(1, "a", "ping", 1, factor, l))
		}
		return rs
	}
	for _, x := range []struct {
		name string
		rs   []record.Result
		want string // the names, from and to
	}{
		{"whole", pairs("ends", "pod-pod", "host-pod", "pod-host", "host-host"), "[host pod] [host pod]"},
		{"a row and a half", pairs("ends", "pod-pod", "pod-host", "host-pod"), ""},
		{"one row", pairs("ends", "pod-pod", "pod-host"), ""},
		{"not square", pairs("ends", "pod-pod", "host-pod", "pod-host", "host-host", "pod-vx", "host-vx"), "[host pod] [host pod vx]"},
		{"another factor", pairs("size", "1-1", "1-2", "2-1", "2-2"), ""},
	} {
		ms := New(x.rs, Options{}).Matrices()
		got := ""
		for _, m := range ms {
			got += fmt.Sprint(m.From, " ", m.To)
			if want := m.From[0] + "-" + m.To[1]; m.Tables[[2]string{m.From[0], m.To[1]}].Levels["ends"] != want {
				t.Errorf("%s: another table where %s should be", x.name, want)
			}
		}
		if got != x.want {
			t.Errorf("%s: matrices %q, want %q", x.name, got, x.want)
		}
	}
}
