package lang

import (
	"strings"
	"unicode"

	eastasian "golang.org/x/text/width"
)

// spaced sets Chinese as its readers expect: a space between Han characters and Latin letters or digits, as sentences
// meet the names and numbers in them, and none between Han characters and their own marks.
func spaced(s string) string {
	rs := []rune(s)
	var b strings.Builder
	for i, r := range rs {
		if i > 0 {
			before := rs[i-1]
			if r == ' ' && i+1 < len(rs) && wide(before) && wide(rs[i+1]) {
				continue
			}
			if han(before) && latin(r) || latin(before) && han(r) {
				b.WriteByte(' ')
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

func han(r rune) bool { return unicode.Is(unicode.Han, r) }

// wide is true of Han characters and of the marks that are as wide.
func wide(r rune) bool { return RuneColumns(r) == 2 }

func latin(r rune) bool { return r <= unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// Columns is how many columns of a terminal a string takes.
func Columns(s string) (n int) {
	for _, r := range s {
		n += RuneColumns(r)
	}
	return n
}

// RuneColumns is 2 for the characters of Chinese, which are as wide as two letters (Unicode Standard Annex 11), or else 1.
func RuneColumns(r rune) int {
	switch eastasian.LookupRune(r).Kind() {
	case eastasian.EastAsianWide, eastasian.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Fit cuts a line after the last character that fits into columns.
func Fit(line string, columns int) string {
	for i, r := range line {
		if columns -= RuneColumns(r); columns < 0 {
			return line[:i]
		}
	}
	return line
}

// Table lays rows out in columns as wide as their characters are on a terminal, which text/tabwriter does not know. All rows
// have cells for all columns but the last ones.
func (l *Language) Table(rows [][]Text) string {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			widths[i] = max(widths[i], Columns(cell.In(l)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			s := cell.In(l)
			b.WriteString(s + strings.Repeat(" ", widths[i]-Columns(s)+2))
		}
		b.WriteString(row[len(row)-1].In(l) + "\n")
	}
	return b.String()
}

// Pieces cuts a word where a line can break: around Chinese characters, but not before a mark that closes.
func Pieces(word string) (out []string) {
	from, last := 0, rune(0)
	for i, r := range word {
		if i > 0 && (RuneColumns(r) == 2 || RuneColumns(last) == 2) && !strings.ContainsRune("，。；：、！？）》」』】”’%,.;:)]", r) && !strings.ContainsRune("（《「『【“‘([", last) {
			out, from = append(out, word[from:i]), i
		}
		last = r
	}
	return append(out, word[from:])
}
