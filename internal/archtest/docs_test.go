package archtest

import (
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinks(t *testing.T) {
	n := 0
	files(t, func(name string, b []byte) {
		if path.Ext(name) != ".md" || strings.Contains(name, "/testdata/") { // parts of generated pages
			return
		}
		for _, m := range link.FindAllSubmatch(b, -1) {
			u, err := url.Parse(string(m[1]))
			if err != nil {
				t.Errorf("%s: link %q: %v", name, m[1], err)
				continue
			}
			if u.IsAbs() || u.Path == "" {
				continue // elsewhere, or a heading of this page
			}
			n++
			if _, err := os.Stat(filepath.Join(root, path.Dir(name), u.Path)); err != nil {
				t.Errorf("%s: link to %s: no such file", name, u.Path)
			}
		}
	})
	if n == 0 {
		t.Error("found no relative link: the test looks in the wrong place")
	}
}

// adrTitle matches the first line of a decision: its number, as in the file's name.
var adrTitle = regexp.MustCompile(`^# (\d+)\. \S`)

// adrStatus matches the third line of a decision. One that is superseded in part says which part, and by which.
var adrStatus = regexp.MustCompile(`^Status: (accepted|superseded by \[\d+\]\(\d{4}-[\w-]+\.md\))`)

// adrWords is the most words of a decision: a page that people read to its end. What was measured has pages in
// docs/lab.
const adrWords = 400

// dependencies is a table with a row per module, which TestDependencies demands. Its rows do not count.
const dependencies = "docs/adr/0013-dependencies.md"

// Every decision has its number in the title, a status, and the expected sections, and is short.
func TestADRs(t *testing.T) {
	names, err := fs.Glob(os.DirFS(root), "docs/adr/*.md")
	if err != nil || len(names) == 0 {
		t.Fatalf("no decision found: %v", err)
	}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		m := adrTitle.FindSubmatch(b)
		if m == nil || !strings.HasPrefix(strings.TrimLeft(path.Base(name), "0"), string(m[1])+"-") {
			t.Errorf("%s: the first line is not \"# N. Title\" with the number of the file", name)
		}
		if lines := strings.SplitN(string(b), "\n", 4); len(lines) < 4 || !adrStatus.MatchString(lines[2]) {
			t.Errorf("%s: the third line is neither \"Status: accepted\" nor \"Status: superseded by [N](FILE)\"", name)
		}
		if !strings.Contains(strings.ToLower(string(b)), "what would change our mind") {
			t.Errorf("%s does not say what would change our mind", name)
		}
		if n := adrLength(name, string(b)); n > adrWords {
			t.Errorf("%s has %d words, more than %d: move what was measured to docs/lab", name, n, adrWords)
		}
	}
}

// adrLength counts the words of a decision that the bound is about.
func adrLength(name, page string) (n int) {
	for line := range strings.Lines(page) {
		if name != dependencies || !strings.HasPrefix(line, "|") {
			n += len(strings.Fields(line))
		}
	}
	return n
}

var testName = regexp.MustCompile("`(Test\\w+)`")

// The page on security names a test for every promise.
func TestSecurityTests(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := testName.FindAllSubmatch(b, -1)
	if len(names) == 0 {
		t.Fatal("docs/security.md names no test")
	}
	var all strings.Builder
	files(t, func(name string, b []byte) {
		if strings.HasSuffix(name, "_test.go") {
			all.Write(b)
		}
	})
	for _, m := range names {
		if !strings.Contains(all.String(), "\nfunc "+string(m[1])+"(t *testing.T) {") {
			t.Errorf("docs/security.md names %s, which does not exist", m[1])
		}
	}
}

var (
	span    = regexp.MustCompile("`[^`]+`")
	comment = regexp.MustCompile(`\s+# .*`)
)

// A translated page has the commands, the code and the links of its English page, so that neither changes alone.
func TestTranslatedPages(t *testing.T) {
	for _, page := range []string{"README", "docs/questions"} {
		of := map[string][]string{}
		for _, name := range []string{page + ".md", page + ".zh-CN.md"} {
			b, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			of[name] = parts(string(b))
		}
		en, zh := of[page+".md"], of[page+".zh-CN.md"]
		if len(en) < 10 {
			t.Errorf("%s.md has only %d commands and links: the test looks in the wrong place", page, len(en))
		}
		for _, x := range en {
			if !slices.Contains(zh, x) {
				t.Errorf("%s.zh-CN.md lacks %s of %s.md", page, x, page)
			}
		}
		for _, x := range zh {
			if !slices.Contains(en, x) {
				t.Errorf("%s.zh-CN.md has %s, which %s.md lacks", page, x, page)
			}
		}
	}
}

// parts lists the commands, code spans and links of a page, without comments, anchors and the language of a link. Of
// an example with its output, which follows a prompt, only the command counts.
func parts(page string) (out []string) {
	output := false
	var prose []string
	for line := range strings.Lines(page) {
		command, code := strings.CutPrefix(line, "    ")
		if !code {
			output = false
			prose = append(prose, strings.TrimSuffix(line, "\n"))
			continue
		}
		prompt := strings.HasPrefix(command, "$ ")
		if output = output || prompt; prompt || !output {
			out = append(out, comment.ReplaceAllString(strings.TrimSpace(command), ""))
		}
	}
	text := strings.Join(prose, " ") // a span can go over a line's end
	out = append(out, span.FindAllString(text, -1)...)
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		target, _, _ := strings.Cut(m[1], "#")
		out = append(out, "a link to "+strings.Replace(target, ".zh-CN.md", ".md", 1))
	}
	return out
}
