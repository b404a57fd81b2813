package strictyaml

import (
	"fmt"
	"math"
	"strings"
)

// unknown returns an error text: what has no key or option (noun) called key. It suggests a similar
// one.
func unknown(what, noun, key string, known []string) string {
	s := fmt.Sprintf("%s has no %s %q", what, noun, key)
	if len(known) == 0 {
		return s + ": it has none"
	}
	if c := Closest(key, known); c != "" {
		s += fmt.Sprintf(": did you mean %q?", c)
	}
	return s + " (known: " + strings.Join(known, ", ") + ")"
}

// Closest returns the word most similar to s; if more than a third of its letters differ, the first that s begins, as
// flannel begins flannel-vxlan; or "".
func Closest(s string, words []string) string {
	best, at := "", math.MaxInt
	for _, w := range words {
		if n := distance(strings.ToLower(s), w); n < at && n <= max(1, len(w)/3) {
			best, at = w, n
		}
	}
	if len(s) < 3 || best != "" {
		return best
	}
	for _, w := range words {
		if strings.HasPrefix(w, strings.ToLower(s)) {
			return w
		}
	}
	return ""
}

// distance returns the number of letters to insert, delete, replace or swap with their neighbor to
// get from a to b (optimal string alignment).
func distance(a, b string) int {
	if len(a) > 2*len(b)+2 {
		return len(a)
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
