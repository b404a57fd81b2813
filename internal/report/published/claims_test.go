package published

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
)

func TestClaims(t *testing.T) {
	for _, width := range []int{72, 120} {
		var b bytes.Buffer
		if err := render.Text(&b, Claims(reporttest.Outcomes()), width); err != nil {
			t.Fatal(err)
		}
		for _, o := range reporttest.Outcomes() {
			if !strings.Contains(b.String(), o.Claim.ID) {
				t.Errorf("%d columns: the name %s is cut", width, o.Claim.ID)
			}
		}
		if width == 120 {
			reporttest.Golden(t, "claims.txt", b.Bytes())
		}
	}
}

// A claim with results from several runs has a line for each, which names the run.
func TestClaimsOfSeveralRuns(t *testing.T) {
	os := append(reporttest.Outcomes()[:2], reporttest.Outcomes()[0])
	os[2].From = "b"
	var b bytes.Buffer
	if err := render.Text(&b, Claims(os), 120); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "holds (1 run)          a\n") || !strings.Contains(b.String(), "holds (1 run)          b\n") || !strings.Contains(b.String(), "does not hold (1 run)\n") {
		t.Errorf("the results are not told apart:\n%s", b.String())
	}
}

// A claim of several parts says which part each row is about.
func TestPartsOfClaims(t *testing.T) {
	for _, r := range ClaimSection(reporttest.Outcomes()).Tables[0].Rows {
		if r.Cells[0].Text == "" || r.Cells[0].Text == "overlay-order" && r.Cells[1].Text == "" {
			t.Errorf("%+v", r.Cells[:2])
		}
	}
}
