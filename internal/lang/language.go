package lang

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"sync"

	"golang.org/x/text/language"

	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/record"
)

//go:embed zh/*.yaml
var files embed.FS

// A Language has a catalog of sentences. A nil Language is English, whose sentences are in the code.
type Language struct {
	Tag     string // of HTML's lang attribute (BCP 47): "zh-CN"
	catalog func() map[string]string
}

// Chinese is Simplified Chinese.
var Chinese = &Language{"zh-CN", sync.OnceValue(func() map[string]string { return chinese(false) })}

// Draft is Chinese with a mark and the arguments of every sentence that waits for its translation; Chinese has it in English.
// Tests look in it for English that no catalog translates.
var Draft = &Language{"zh-CN", sync.OnceValue(func() map[string]string { return chinese(true) })}

func chinese(draft bool) map[string]string {
	all := map[string]string{}
	for _, d := range record.Quantities() {
		all[d.Word] = d.Chinese
	}
	maps.Copy(all, catalog(files, "zh/*.yaml", draft))
	return all
}

// Code names the language in an HTML attribute.
func (l *Language) Code() string {
	if l == nil {
		return "en"
	}
	return l.Tag
}

func (l *Language) translate(format string) (translated string, known bool) {
	if l == nil {
		return format, true
	}
	if translated, known = l.catalog()[format]; !known {
		translated = format
	}
	return translated, known
}

// todo stands in a file for a translation that somebody else will write.
const todo = "TODO"

// catalog reads files by a pattern of their names, which tests have checked: English formats with their translations,
// without those that wait for one, or with a mark for them.
func catalog(files fs.FS, glob string, draft bool) map[string]string {
	out := map[string]string{}
	names, _ := fs.Glob(files, glob)
	for _, name := range names {
		src, _ := fs.ReadFile(files, name)
		n, bad := strictyaml.Parse(src)
		if bad != nil {
			panic(fmt.Sprintf("%s: %v", name, bad))
		}
		if n == nil {
			continue
		}
		for _, e := range n.Keys {
			if e.Value.Text != todo {
				out[e.Key] = e.Value.Text
			} else if draft {
				out[e.Key] = waiting(e.Key)
			}
		}
	}
	return out
}

// waiting is a mark and the verbs of a format.
func waiting(format string) string {
	out := "待译"
	for _, v := range verbs(format, len(format)) {
		out += format[v.at : v.at+v.length]
	}
	return out
}

var matcher = language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese})

// match returns the language for a tag, and false if none fits.
func match(tag string) (*Language, bool) {
	name, _, _ := strings.Cut(tag, ".") // zh_CN.UTF-8
	name, _, _ = strings.Cut(name, "@")
	t, err := language.Parse(name)
	if err != nil {
		return nil, false
	}
	_, i, confidence := matcher.Match(t)
	return []*Language{nil, Chinese}[i], confidence > language.No
}

// Named returns the language that a user asks for by a tag such as "zh", "zh-CN" or "en".
func Named(tag string) (*Language, error) {
	if l, ok := match(tag); ok {
		return l, nil
	}
	return nil, fmt.Errorf("no language %q: want en or zh", tag)
}

// Of returns the language of an environment by LC_ALL, LC_MESSAGES and LANG, as setlocale(3) does: English for
// every language without a catalog.
func Of(getenv func(string) string) *Language {
	l, _ := match(cmp.Or(getenv("LC_ALL"), getenv("LC_MESSAGES"), getenv("LANG")))
	return l
}
