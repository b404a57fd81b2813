package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/strictyaml"
)

// meant suggests the one known word that is most like a wrong one; "" if none is.
func meant(word string, known []string) string {
	if c := strictyaml.Closest(word, known); c != "" {
		return fmt.Sprintf("; did you mean %q?", c)
	}
	return ""
}

// andSee ends an error with where to read more.
func andSee(suggestion, where string) string {
	if suggestion == "" {
		return "; see " + where
	}
	return suggestion + " see " + where
}

// commandNames are the names of the commands below c that users run.
func commandNames(c *cobra.Command) (names []string) {
	for _, one := range c.Commands() {
		if !one.Hidden {
			names = append(names, one.Name())
		}
	}
	return names
}

func unknownCommand(c *cobra.Command, word string) error {
	return usage("unknown command %q%s", word, andSee(meant(word, commandNames(c)), c.CommandPath()+" --help"))
}

// args makes the error of a positional arguments check a usage error, which shows what the command takes.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, as []string) error {
		err := check(c, as)
		switch {
		case err == nil:
			return nil
		case len(as) == 0:
			return usage("no argument; want: %s", c.UseLine())
		case c.HasAvailableSubCommands():
			return unknownCommand(c, as[0])
		case cobra.NoArgs(c, nil) == nil && check(c, nil) == nil && len(as) == 1:
			if where := namesIn(c, as); where != nil {
				return where
			}
			return usage("unexpected argument %q; want: %s", as[0], c.UseLine())
		}
		return usage("%s; want: %s", counted(len(as), "argument"), c.UseLine())
	}
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// namesIn returns an error if an argument names a network or a probe, because the user forgot its flag; nil if none
// does. If a file of that name exists, the argument is a study.
func namesIn(c *cobra.Command, as []string) error {
	var networks, probes []string
	for _, a := range as {
		if _, err := os.Stat(a); err == nil {
			continue
		}
		for _, name := range strings.Split(a, ",") {
			if _, ok := catalog.Networks[name]; ok {
				networks = append(networks, name)
			} else if _, ok := catalog.Probes[name]; ok {
				probes = append(probes, name)
			}
		}
	}
	for _, k := range []struct {
		letter, noun, nouns string
		names               []string
	}{{"n", "a network", "networks", networks}, {"p", "a probe", "probes", probes}} {
		f := c.Flags().ShorthandLookup(k.letter)
		if f == nil || len(k.names) == 0 {
			continue
		}
		if len(as) == 1 && f.Value.Type() == "string" { // it takes one
			return usage("unexpected argument %q; did you mean -%s %s?", as[0], k.letter, as[0])
		}
		said := k.names
		if v, ok := f.Value.(pflag.SliceValue); ok {
			said = append(v.GetSlice(), said...)
		}
		are := k.names[0] + " is " + k.noun
		if n := len(k.names); n > 1 {
			are = strings.Join(k.names[:n-1], ", ") + " and " + k.names[n-1] + " are " + k.nouns
		}
		return usage("%s: want -%s %s", are, k.letter, strings.Join(said, ","))
	}
	return nil
}

// oneStudy takes one study at most.
func oneStudy(c *cobra.Command, as []string) error {
	if len(as) > 0 && !slices.Contains(job.StudyNames(), as[0]) {
		if err := namesIn(c, as); err != nil {
			return err
		}
	}
	return args(cobra.MaximumNArgs(1))(c, as)
}

// unknownStudy is the error about a study that is neither shipped nor a file.
func unknownStudy(name string) error {
	return usage("unknown study %q%s weir list studies lists all; a file needs its path, such as ./%s", name, cmp.Or(meant(name, job.StudyNames()), ";"), name)
}

var bareNumber = regexp.MustCompile(`^[0-9]+$`)

// wrongFlag rewrites a flag's error to say what the flag takes, rather than what its parser met.
func wrongFlag(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		if why := ofRunAlone(c, unknown); why != nil {
			return why
		}
		if as := c.Flags().Args(); !c.HasParent() && len(as) > 0 {
			return unknownCommand(c, as[0])
		}
		suggestion := ""
		if unknown.GetSpecifiedShortnames() == "" {
			suggestion = strings.Replace(meant(unknown.GetSpecifiedName(), flagNames(c)), `mean "`, `mean "--`, 1)
			suggestion = strings.ReplaceAll(suggestion, `"`, "")
		}
		return usage("%w%s", err, andSee(suggestion, c.CommandPath()+" --help"))
	case errors.As(err, &value):
		name, text := value.GetFlag().Name, value.GetValue()
		if want := wanted(value.GetFlag().Value.Type(), text); want != "" {
			return usage("--%s %s: want %s", name, quotedIfNeeded(text), want)
		}
	}
	return usage("%w; see %s --help", err, c.CommandPath())
}

// ofRunAlone is the error about a flag of run that plan, which shows what a run builds, does not take because it changes
// nothing there; nil for others.
func ofRunAlone(c *cobra.Command, unknown *pflag.NotExistError) error {
	i := slices.IndexFunc(c.Root().Commands(), func(one *cobra.Command) bool { return one.Name() == "run" })
	if c.Name() != "plan" || i < 0 {
		return nil
	}
	flags := c.Root().Commands()[i].Flags()
	f := flags.Lookup(unknown.GetSpecifiedName())
	if unknown.GetSpecifiedShortnames() != "" {
		f = flags.ShorthandLookup(unknown.GetSpecifiedName())
	}
	switch {
	case f == nil:
		return nil
	case f.Name == "resume":
		return usage("--resume: weir plan DIR/study.yaml prints what the run in DIR builds")
	}
	return usage("--%s: weir plan prints the steps that build the networks of a study, and --%[1]s changes none of them: leave it out", f.Name)
}

// quotedIfNeeded quotes a text that is empty or would not stay one word.
func quotedIfNeeded(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' }) {
		return strconv.Quote(s)
	}
	return s
}

// wanted describes what flags of a type take, given what one got.
func wanted(kind, got string) string {
	switch kind {
	case "duration":
		if bareNumber.MatchString(got) {
			if d, err := time.ParseDuration(got + "s"); err == nil && d > 0 {
				return fmt.Sprintf("a duration with its unit, such as %ss", got)
			}
		}
		return "a duration with its unit, such as 5s or 500ms"
	case "int", "int64":
		return "a whole number"
	case "uint", "uint64", "uint16", "uint32":
		return "a whole number, 0 or more"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	}
	return ""
}

// flagNames are the flags of c that users set.
func flagNames(c *cobra.Command) (names []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}
