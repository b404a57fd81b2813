package explain

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/record"
)

// Packets that carry more explain a faster TCP only where nothing else holds either stream back: no loss, no rate, no
// other cause, one program.
func TestSharingNeedsNoOtherReason(t *testing.T) {
	of := func(r *record.Result, probe string) bool { return r.Config["probe"] == probe }
	policer := finding.Finding{Rule: "drop-on-path", Cells: cellsOf("host", "udp-stream"), Place: "h2 eth0", Text: "lost", Number: one("lost", "1", 0.9, 1)}
	for name, c := range map[string]struct {
		change   func(*record.Result)
		findings []finding.Finding
		want     bool
	}{
		"nothing else":             {func(*record.Result) {}, []finding.Finding{full("host")}, true},
		"no thread is full":        {func(*record.Result) {}, nil, false},
		"a policer":                {func(*record.Result) {}, []finding.Finding{full("host"), policer}, false},
		"datagrams that are lost":  {func(r *record.Result) { loseHalf(r, of(r, "udp-stream")) }, []finding.Finding{full("host")}, false},
		"a rate of the TCP stream": {func(r *record.Result) { setIf(r, of(r, "tcp-stream"), "rate", "5e+08") }, []finding.Finding{full("host")}, false},
		"another program":          {func(r *record.Result) { setIf(r, of(r, "udp-stream"), "tool", "iperf 2.1.8") }, []finding.Finding{full("host")}, false},
		"an unknown program":       {func(r *record.Result) { r.Observed["tool"] = "" }, []finding.Finding{full("host")}, false},
	} {
		rs, o := built("host", "macvlan")
		for i := range rs {
			c.change(&rs[i])
		}
		all := run(rs, o, c.findings...).sharing("host")
		if (all != nil) != c.want {
			t.Errorf("%s: %v", name, all)
		}
		if all != nil && (all[0].Cells[0].Probe != "udp-stream" || all[0].Test.Options["send"] != "gso" || !strings.Contains(all[0].Test.Text.String(), "UDP")) {
			t.Errorf("the test does not touch UDP: %+v", all[0])
		}
	}
}

func loseHalf(r *record.Result, here bool) {
	for i := range r.Values {
		if here && r.Values[i].Name == record.Delivered {
			r.Values[i].Value /= 2
		}
	}
}

func setIf(r *record.Result, here bool, key, v string) {
	if here {
		r.Observed[key] = v
	}
}
