package published

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/reporttest"
)

// Each claim has what it was and what it is, and the counts are those of the table.
func TestAgain(t *testing.T) {
	here := reporttest.Outcomes()
	there := reporttest.Outcomes()
	there[0].Verdict, there[1].Verdict = claim.Holds, claim.Holds
	there = there[:5] // the package does not test the last one
	d := Again(there, here)
	text := reporttest.Text(t, d)
	for _, want := range []string{"Claims: still holds: 1; holds no longer: 1; undecided here: 2; cannot be tested here: 2.", "0.47×", "“There” is the package"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if text := reporttest.Text(t, Again(nil, nil)); !strings.Contains(text, "The package makes no claim.") {
		t.Error(text)
	}
}

// What becomes of a claim is never said more surely than both verdicts allow.
func TestStill(t *testing.T) {
	for _, c := range []struct {
		there, here claim.Verdict
		want        string
	}{
		{claim.Holds, claim.Holds, "still holds"},
		{claim.Undecided, claim.Holds, "holds here, not shown there"},
		{claim.Untestable, claim.Fails, "does not hold here, not shown there"},
		{claim.Holds, claim.Fails, "holds no longer"},
		{claim.Fails, claim.Fails, "holds neither here nor there"},
		{claim.Fails, claim.Holds, "holds here, not there"},
		{claim.Holds, claim.Undecided, "undecided here, held there"},
		{claim.Holds, claim.Untestable, "cannot be tested here"},
	} {
		if got := doc.English(stillOf(c.there, c.here)); got != c.want {
			t.Errorf("%s, then %s: %q, want %q", c.there, c.here, got, c.want)
		}
	}
}
