package engine

import (
	"errors"
	"flag"
	"regexp"
	"strings"
)

// A decimal is a flag with a number that is read as in a study: package flag reads 010 as 8, and 0x10 and 1_6 as 16.
type decimal struct{ flag.Getter }

var decimalRE = regexp.MustCompile(`^([-+]?)0*([0-9]+)$`)

func (d decimal) Set(s string) error {
	if _, ok := d.Get().(float64); ok {
		if strings.ContainsAny(s, "_xX") {
			return errors.New("want a number, such as 1e6")
		}
		return d.Getter.Set(s)
	}
	m := decimalRE.FindStringSubmatch(s)
	if m == nil {
		return errors.New("want a whole number")
	}
	return d.Getter.Set(m[1] + m[2])
}

// decimals makes all numbers of fs decimals. restore makes them what package flag describes in its help.
func decimals(fs *flag.FlagSet) (restore func()) {
	was := map[*flag.Flag]flag.Value{}
	fs.VisitAll(func(f *flag.Flag) {
		g, ok := f.Value.(flag.Getter)
		if !ok {
			return
		}
		switch g.Get().(type) {
		case int, int64, float64:
			was[f], f.Value = f.Value, decimal{g}
		}
	})
	return func() {
		for f, v := range was {
			f.Value = v
		}
	}
}
