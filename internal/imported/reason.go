package imported

import (
	"cmp"
	"regexp"
	"slices"
)

// A Refusal is a file that was not imported, and why.
type Refusal struct {
	Path   string
	Reason error
}

// A Reason is one that several files share, but for its numbers and what it quotes.
type Reason struct {
	Refusal // the first file's
	Files   int
}

// ownRE matches what is of one file in a reason: what it quotes, paths and numbers.
var ownRE = regexp.MustCompile(`\S*/\S*|"(?:[^"\\]|\\.)*"|\d+(?:\.\d+)?(?:e[-+]?\d+)?`)

// Reasons returns the reasons of refusals, that of the most files first.
func Reasons(all []Refusal) (out []Reason) {
	at := map[string]int{}
	for _, r := range all {
		key := ownRE.ReplaceAllString(r.Reason.Error(), "#")
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, Reason{Refusal: r})
		}
		out[i].Files++
	}
	slices.SortStableFunc(out, func(a, b Reason) int { return cmp.Compare(b.Files, a.Files) })
	return out
}
