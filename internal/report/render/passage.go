package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostRead is how many words of a text readers read at once. A page folds the sentences beyond.
const mostRead = 40

// A passage is a text of a page: the sentences that it shows, and those that it folds.
type passage struct{ First, Rest string }

// passageOf folds the sentences that exceed mostRead words, but the first, unless the whole text is to be seen.
func passageOf(text string, whole bool) passage {
	if whole || length(text) <= mostRead {
		return passage{First: text}
	}
	at := len(text)
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		if rest := text[end:]; rest == "" || r != '。' && !(r == '.' && rest[0] == ' ' && len(rest) > 1 && unicode.IsUpper(rune(rest[1]))) {
			continue
		}
		if at < len(text) && length(text[:end]) > mostRead {
			break
		}
		at = end
	}
	return passage{text[:at], strings.TrimSpace(text[at:])}
}

// length counts words. Two Chinese characters are about one.
func length(text string) int {
	wide := 0
	for _, r := range text {
		if unicode.Is(unicode.Han, r) {
			wide++
		}
	}
	return len(strings.Fields(text)) + wide/2
}
