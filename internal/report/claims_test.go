package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
)

// outcomes returns synthetic outcomes, one of every verdict.
func outcomes() []claim.Outcome {
	cell := func(network, probe string) claim.Cell { return claim.Cell{Network: network, Probe: probe} }
	host := cell("host", "udp-stream")
	between := func(least, most, published float64) claim.Test {
		return claim.Test{Of: cell("vxlan-overlay", "udp-stream"), To: &host, Ratio: claim.Figure{Value: published}, Least: least, Most: most}
	}
	measured := func(v claim.Verdict, center, lo, hi float64, warnings ...lang.Text) claim.Measure {
		return claim.Measure{Verdict: v, Ratio: stat.Interval{Center: center, Lo: lo, Hi: hi, Confidence: 0.95, N: 8, Warnings: warnings}}
	}
	double := between(0, 0.95, 0)
	double.Per = &claim.Pair{Of: cell("vxlan-overlay", "tcp-stream"), To: cell("host", "tcp-stream")}
	text := func(id string, tests ...claim.Test) claim.Claim {
		return claim.Claim{ID: id, Text: "Somebody claims " + id + ".", Note: "A veth is no NIC.", Tests: tests}
	}
	return []claim.Outcome{
		{Claim: text("overlay-halves-udp", between(0.25, 0.71, 0.5)), Verdict: claim.Holds, Measured: []claim.Measure{measured(claim.Holds, 0.47, 0.45, 0.49)}, From: "a", Runs: 1},
		{Claim: text("overlay-order", between(0, 1, 0), between(0.9, 1.1, 0.985)), Verdict: claim.Fails,
			Measured: []claim.Measure{measured(claim.Holds, 0.47, 0.45, 0.49), measured(claim.Fails, 0.47, 0.455, 0.482, "ratios of 0 count as the smallest: 1 of 8")}, From: "a", Runs: 1},
		{Claim: text("udp-loses-more-than-tcp", double), Verdict: claim.Undecided, Why: "about 34 more blocks would decide",
			Measured: []claim.Measure{measured(claim.Undecided, 0.93, 0.85, 1.02)}, From: "a", Runs: 1},
		{Claim: text("no-interval", between(1, 0, 0)), Verdict: claim.Undecided, Why: "about 4 more blocks would decide",
			Measured: []claim.Measure{{Verdict: claim.Undecided, Ratio: stat.Interval{Center: 1.2, N: 2}}}, From: "a", Runs: 1},
		text("calico-30", between(0.49, 0.84, 0.7)).Cannot(`this version has no network "calico"`),
		text("canal-as-flannel", between(0.95, 1.05, 0)).Cannot(`this version has no network "calico"`),
	}
}

func TestClaims(t *testing.T) {
	for _, width := range []int{72, 120} {
		var b bytes.Buffer
		if err := Text(&b, Claims(outcomes()), width); err != nil {
			t.Fatal(err)
		}
		for _, o := range outcomes() {
			if !strings.Contains(b.String(), o.Claim.ID) {
				t.Errorf("%d columns: the name %s is cut", width, o.Claim.ID)
			}
		}
		if width == 120 {
			golden(t, "claims.txt", b.Bytes())
		}
	}
}

// A claim with results from several runs has a line for each, which names the run.
func TestClaimsOfSeveralRuns(t *testing.T) {
	os := append(outcomes()[:2], outcomes()[0])
	os[2].From = "b"
	var b bytes.Buffer
	if err := Text(&b, Claims(os), 120); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "holds (1 run)          a\n") || !strings.Contains(b.String(), "holds (1 run)          b\n") || !strings.Contains(b.String(), "does not hold (1 run)\n") {
		t.Errorf("the results are not told apart:\n%s", b.String())
	}
}
