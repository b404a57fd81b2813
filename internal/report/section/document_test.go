package section

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/reporttest"
)

// Every section, figure and table has a link target, and every link leads somewhere.
func TestIdentities(t *testing.T) {
	for name, r := range map[string]*account.Account{"run": reporttest.Run(t), "gap": gapRun(12), "line": chainRun(t), "tools": toolRun(12), "levels": loaded(t)} {
		s := write(t, writers["html"], r)
		seen := map[string]bool{}
		for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(s, -1) {
			if seen[m[1]] || m[1] != doc.Slug(m[1]) || m[1] == "" {
				t.Errorf("%s: the identity %q is not unique or cannot be typed", name, m[1])
			}
			seen[m[1]] = true
		}
		for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(s, -1) {
			if !seen[m[1]] {
				t.Errorf("%s: a link to %q, which does not exist", name, m[1])
			}
		}
	}
}

// Two charts share a line only where neither shrinks. Dark colors are for screens only.
func TestStyle(t *testing.T) {
	b, err := os.ReadFile("../render/page.css")
	if err != nil {
		t.Fatal(err)
	}
	style := string(b)
	column := regexp.MustCompile(`minmax\(min\((\d+)rem, 100%\)`).FindStringSubmatch(style)
	chart := regexp.MustCompile(`viewBox="0 0 (\d+) `).FindStringSubmatch(write(t, writers["html"], reporttest.Run(t)))
	if column == nil || chart == nil {
		t.Fatalf("a column is %v, a chart is %v", column, chart)
	}
	rem, _ := strconv.Atoi(column[1])
	if width, _ := strconv.Atoi(chart[1]); 16*rem < width {
		t.Errorf("charts of %d px stand in columns of %d px", width, 16*rem)
	}
	if strings.Contains(style, "@media (prefers-color-scheme") {
		t.Error("a page is printed in dark colors")
	}
}

// Cells carry the numbers that they print, so other programs need not parse text.
func TestCellsHaveNumbers(t *testing.T) {
	var back doc.Document
	if err := json.Unmarshal([]byte(write(t, writers["json"], reporttest.Run(t))), &back); err != nil {
		t.Fatal(err)
	}
	table := reporttest.Part(&back, "probe-tcp-stream").Parts[0].Tables[0]
	for i, c := range table.Columns {
		for _, r := range table.Rows {
			cell := r.Cells[i]
			switch {
			case c.Kind == "interval" && cell.Text != "" && (cell.Low == nil || cell.High == nil || *cell.Low > *cell.High):
				t.Errorf("%s of %s: %+v", c.Head, r.Network, cell)
			case c.Base != "" && c.Kind != "interval" && cell.Text != "" && cell.Value == nil:
				t.Errorf("%s of %s: %+v", c.Head, r.Network, cell)
			}
		}
	}
}
