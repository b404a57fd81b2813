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

// What charts and tables name by themselves is Chinese, too.
func TestChineseWordsOfCharts(t *testing.T) {
	r := reporttest.Run(t)
	for i := range r.Results {
		if r.Results[i].Observed != nil && r.Results[i].Config["probe"] == "tcp-stream" {
			r.Results[i].Observed["ceiling"], r.Results[i].Observed["link"] = "2.47e10", "2.6e10"
		}
	}
	d := Report(reporttest.Analyzed(r))
	d.Lang = lang.Chinese
	var page bytes.Buffer
	if err := render.HTML(&page, d); err != nil {
		t.Fatal(err)
	}
	for english, chinese := range map[string]string{"header ceiling": "头部上限", "inside a cell": "单元之内"} {
		if s := page.String(); strings.Contains(s, ">"+english+"<") || !strings.Contains(s, ">"+chinese+"<") {
			t.Errorf("%q is not %s", english, chinese)
		}
	}
}
