package engine

import (
	"errors"
	"flag"
	"regexp"
	"strings"
)

// A decimal is a number's flag that is read as in a study: package flag reads 010 as 8, and 0x10 and 1_6 as 16.
type decimal struct{ flag.Getter }

var leadingZeros = regexp.MustCompile(`^([-+]?)0+([0-9])`)

func (d decimal) Set(s string) error {
	if strings.ContainsAny(s, "_bBoOxX") {
		return errors.New("want a decimal number, such as 1000")
	}
	return d.Getter.Set(leadingZeros.ReplaceAllString(s, "$1$2"))
}

// toDecimal makes a number's flag a decimal, and toPlain what package flag describes in its help.
func toDecimal(f *flag.Flag) {
	if g, ok := f.Value.(flag.Getter); ok {
		switch g.Get().(type) {
		case int, int64, float64:
			f.Value = decimal{g}
		}
	}
}

func toPlain(f *flag.Flag) {
	if d, ok := f.Value.(decimal); ok {
		f.Value = d.Getter
	}
}
