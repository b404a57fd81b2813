package section

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
)

func TestChinesePage(t *testing.T) {
	r := reporttest.Run(t)
	r.Claims = nil // the catalog lacks the texts of made-up claims
	d := Report(reporttest.Analyzed(r))
	d.Lang = lang.Chinese
	var page, text bytes.Buffer
	if err := render.HTML(&page, d); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), `<html lang="zh-CN">`) {
		t.Error("the page does not say that it is Chinese")
	}
	if err := render.Text(&text, d, 80); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(text.String(), "\n") {
		if n := lang.Columns(line); n > 80 && !strings.Contains(line, "    ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	reporttest.Golden(t, "report.zh.html", page.Bytes())
	reporttest.Golden(t, "report.zh.txt", text.Bytes())
	reporttest.Chinese(t, d)
	if d.Lang = nil; d.Heading() == "" {
		t.Error("printing changed the document")
	}
}
