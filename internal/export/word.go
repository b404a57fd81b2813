package export

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
)

// Control words of TeX consist of letters.

// parts tell a number from all others, except for what it is compared with.
func (n number) parts() []string {
	all := []string{n.Network, n.Probe}
	for _, k := range slices.Sorted(maps.Keys(n.factors)) {
		all = append(all, k, n.factors[k])
	}
	return append(all, string(n.metric))
}

// identity tells a number from all others.
func (n number) identity() string { return strings.Join(append(n.parts(), n.Compared), "\x00") }

// word names a number: VxlanOverlayUdpStreamSizeOneFourZeroZeroThroughput. A ratio to the baseline is a Ratio, and that of
// a comparison that the study states says what it divides.
func (n number) word(baseline string) string {
	w := word(n.parts()...)
	switch n.Compared {
	case "":
		return w
	case divided(n.Network, baseline):
		return w + "Ratio"
	}
	return w + "Ratio" + word(n.Compared)
}

var digits = strings.Fields("Zero One Two Three Four Five Six Seven Eight Nine")

// word writes texts as one word of letters. A letter at the beginning of a text, or after anything but a letter, is a
// capital.
func word(texts ...string) string {
	var b strings.Builder
	for _, text := range texts {
		before := ' '
		for _, r := range text {
			switch {
			case r >= '0' && r <= '9':
				b.WriteString(digits[r-'0'])
			case r == '÷':
				b.WriteString("Over")
			case r == '.' && before >= '0' && before <= '9':
				b.WriteString("Point")
			case letter(r) && !letter(before):
				b.WriteString(strings.ToUpper(string(r)))
			case letter(r):
				b.WriteRune(r)
			}
			before = r
		}
	}
	return b.String()
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// letters stand for a text that a word cannot hold.
func letters(text string) string {
	sum := sha256.Sum256([]byte(text))
	b := []byte("X")
	for _, x := range sum[:8] {
		b = append(b, 'a'+x%26)
	}
	return string(b)
}
