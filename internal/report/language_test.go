package report

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

func TestChinesePage(t *testing.T) {
	r := run(t)
	r.Claims = nil // the catalog lacks the texts of made-up claims
	d := New(analyzed(r))
	d.Lang = lang.Chinese
	var page, text bytes.Buffer
	if err := HTML(&page, d); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), `<html lang="zh-CN">`) {
		t.Error("the page does not say that it is Chinese")
	}
	if err := Text(&text, d, 80); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(text.String(), "\n") {
		if n := lang.Columns(line); n > 80 && !strings.Contains(line, "    ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	golden(t, "report.zh.html", page.Bytes())
	golden(t, "report.zh.txt", text.Bytes())
	chinese(t, d)
	if d.Lang = nil; d.Heading() == "" {
		t.Error("printing changed the document")
	}
}

// sentence finds three English words in a row.
var sentence3 = regexp.MustCompile(`\b[A-Za-z]?[a-z]{2,}(?: [a-z]{2,}){2,}`)

// spared are what a Chinese report leaves in English: what the user wrote, commands, and warnings that trials store.
var spared = []*regexp.Regexp{
	regexp.MustCompile("(?m)^    .*$"),                  // verbatim
	regexp.MustCompile(`weir [a-z]+ --?[a-z][^，。；)）]*`), // a command
	regexp.MustCompile(`results\.jsonl: line .*`),       // what could not be read
	// what the fixture's trials stored
	regexp.MustCompile(`the study was interrupted before this trial|the clock of the client stood still for|[^|。]*as fast as they can be sent|[^|。]*and the time to each response`),
	regexp.MustCompile(`raw/\S+|docs/\S+|go tool pprof|/proc/\S+`),
}

// notChinese are sentences that a test has named: many documents have them.
var notChinese sync.Map

// chinese fails if a document in Chinese has English sentences.
func chinese(t testing.TB, d *Document) {
	t.Helper()
	was := d.Lang
	defer func() { d.Lang = was }()
	d.Lang = lang.Draft
	var b bytes.Buffer
	if err := Markdown(&b, d); err != nil {
		t.Fatal(err)
	}
	s := b.String()
	for _, r := range spared {
		s = r.ReplaceAllString(s, "")
	}
	allowed := append([]string{english(d.Question), d.Title}, d.Warnings...)
	switch a := d.Analysis.(type) { // what the study says
	case *analysis.Run:
		for _, c := range a.Contrasts {
			allowed = append(allowed, c.Text)
		}
	case *analysis.Pooled:
		for _, c := range a.Contrasts {
			allowed = append(allowed, c.Text)
		}
	}
	for _, a := range allowed {
		if a != "" && !lang.Text(a).Marked() {
			s = regexp.MustCompile("(?i)"+regexp.QuoteMeta(mdText(a))).ReplaceAllString(s, "")
		}
	}
	left := sentence3.FindAllString(s, -1)
	slices.Sort(left)
	for _, s := range slices.Compact(left) {
		if _, said := notChinese.LoadOrStore(s, true); !said {
			t.Errorf("not Chinese: %q: say it with lang.T; `go test ./internal/lang` names what the catalog lacks", s)
		}
	}
	if strings.ContainsFunc(s, lang.Mark) {
		t.Error("a mark is left in the text")
	}
}
