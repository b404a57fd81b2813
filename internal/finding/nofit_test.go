package finding

import (
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/record"
)

// A path on which connections are made and carry nothing says which device is too small.
func TestTooSmallForFailedTrials(t *testing.T) {
	for name, c := range map[string]struct {
		mtu    int
		failed bool
		want   string
	}{
		"a hole":              {1400, true, "the MTU of h1 eth0 is 1400, the path needs 1500 there: larger packets do not pass it whole"},
		"another reason":      {1500, true, ""},
		"trials with a value": {1400, false, ""},
	} {
		rs, o := watched("tcp", func(o observed) {
			o.device("h1", "eth0", func(d *evidence.Device) { d.MTU = c.mtu })
			if c.failed {
				o.Status, o.Reason, o.Values = record.Failed, "the other end is silent", nil
			}
		})
		got := ""
		for _, f := range Check(analysis.New(rs, o)) {
			if f.Rule == noFit.ID {
				got += f.Text.String()
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
