package prose

import "strings"

// Reason returns why a trial failed in at most longest characters and an ellipsis. Of a command that failed, the command
// line goes first: what the command said is what a reader needs. No word is cut, unless it is very long, nor a clause that begins
// at the end.
func Reason(why string, longest int) string {
	if len([]rune(why)) > longest {
		at, rest, _ := strings.Cut(why, ": ")
		if i := strings.Index(rest, ": exit status "); i >= 0 {
			why = at + rest[i:]
		}
	}
	if r := []rune(why); len(r) > longest {
		short := string(r[:longest])
		if at := strings.LastIndex(short, ": "); at > longest*3/4 { // what follows is a clause that does not fit
			return short[:at] + " …"
		}
		if at := strings.LastIndexByte(short, ' '); at > longest/2 {
			short = short[:at]
		}
		return short + "…"
	}
	return why
}
