package cli

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wholeNumbers are the types of flags with whole numbers.
var wholeNumbers = []string{"int", "int64", "uint", "uint16", "uint32", "uint64"}

// A decimal is a flag with a whole number that is read as in a study: pflag's own types read 010 as 8, and 0x10 and 1_6
// as 16.
type decimal struct{ pflag.Value }

var decimalRE = regexp.MustCompile(`^([-+]?)0*([0-9]+)$`)

func (d decimal) Set(s string) error {
	m := decimalRE.FindStringSubmatch(s)
	if m == nil {
		return errors.New("not a whole number")
	}
	return d.Value.Set(strings.TrimPrefix(m[1], "+") + m[2])
}

// decimals makes all whole numbers of c and of the commands below it decimals.
func decimals(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if _, ok := f.Value.(decimal); !ok && slices.Contains(wholeNumbers, f.Value.Type()) {
			f.Value = decimal{f.Value}
		}
	})
	for _, below := range c.Commands() {
		decimals(below)
	}
}
