package analysis

import (
	"slices"
	"strconv"
	"testing"

	"github.com/weir-bench/weir/record"
)

func TestResidue(t *testing.T) {
	rs := drifting(4)
	for i := range rs {
		rs[i].Observed = map[string]string{"kernel": "6.12", "path.mtu": "1500", "gro": "on", "tool": "a", "swapped": strconv.FormatBool(i%2 == 0), "episode": strconv.Itoa(i / 4)}
		if rs[i].Config[Network] == "bridge" {
			rs[i].Observed["path.mtu"], rs[i].Observed["tool"] = "1450", "b"
			rs[i].Observed["docker.version"] = "28.2.2" // of a component that only this network has
		}
	}
	rs[2].Observed["gro"] = "off"
	udp := result(1, "host", "udp-rr", 1)
	udp.Observed = map[string]string{"kernel": "6.12", "gro": "on", "tool": "a"}
	broken := result(1, "host", "udp-rr", 1)
	broken.Status, broken.Observed = record.Failed, map[string]string{"kernel": "5.15"}
	p := New(append(rs, udp, broken), Options{Baseline: "host"})
	if p.Episodes != len(rs)/4 {
		t.Errorf("%d episodes, want %d", p.Episodes, len(rs)/4)
	}
	var got []string
	for _, d := range p.Residue {
		got = append(got, d.Key+" "+string(d.Scope))
	}
	if want := []string{"gro inside a cell", "tool between networks"}; !slices.Equal(got, want) {
		t.Errorf("residue %q, want %q", got, want)
	}
	if s := p.Residue[0].Values[0]; s.Value != "off" || s.Trials != 1 || s.Where != "bridge, tcp-stream, block 2" {
		t.Errorf("gro: %+v", s)
	}
}
