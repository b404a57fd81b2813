package cli

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// Every flag of run is below a heading; every heading's flag exists, and so does every flag that people use first.
func TestHeadings(t *testing.T) {
	c := runCommand("devel")
	var named []string
	for _, h := range studyHeadings {
		for _, name := range h.flags {
			if c.Flags().Lookup(name) == nil || slices.Contains(named, name) {
				t.Errorf("%s: %q is no flag of run, or there twice", h.title, name)
			}
			named = append(named, name)
		}
	}
	for _, name := range firstFlags {
		if !slices.Contains(named, name) {
			t.Errorf("%q is among the first flags, and below no heading", name)
		}
	}
	var others []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !slices.Contains(named, f.Name) {
			others = append(others, f.Name)
		}
	})
	if want := []string{"help"}; !slices.Equal(others, want) {
		t.Errorf("flags below no heading: %v, want %v", others, want)
	}
}

// Every heading's command exists, and every other command is hidden or about weir itself.
func TestCommandHeadings(t *testing.T) {
	root := Command("devel")
	for _, h := range commandHeadings {
		for _, name := range h.commands {
			if c, _, err := root.Find([]string{name}); err != nil || c.GroupID != h.title {
				t.Errorf("%s: weir %s does not exist", h.title, name)
			}
		}
	}
	for _, c := range root.Commands() {
		if c.GroupID == "" && !c.Hidden && !slices.Contains([]string{"completion", "help", "version", "schema"}, c.Name()) {
			t.Errorf("weir %s is below no heading", c.Name())
		}
	}
}
