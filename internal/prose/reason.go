package prose

import "strings"

// Reason returns why a trial failed in at most longest characters and an ellipsis. Of a command that failed, the command
// line goes first: what the command said is what a reader needs.
func Reason(why string, longest int) string {
	if len([]rune(why)) > longest {
		at, rest, _ := strings.Cut(why, ": ")
		if i := strings.Index(rest, ": exit status "); i >= 0 {
			why = at + rest[i:]
		}
	}
	if r := []rune(why); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return why
}
