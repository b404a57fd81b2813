package claim

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/claims.md")

// page is the documentation of all claims.
const page = "../../docs/claims.md"

func shipped(t *testing.T) []Claim {
	t.Helper()
	cs, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

func TestShipped(t *testing.T) {
	cs := shipped(t)
	if len(cs) < 25 {
		t.Errorf("%d claims are shipped", len(cs))
	}
	for _, c := range cs {
		for _, text := range []string{c.Text, c.Tolerance, c.Note} {
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q is no sentence", c.ID, text)
			}
		}
		// What makes a table: a longer name would push the verdict out of a terminal.
		if len(c.ID) > 35 {
			t.Errorf("%s: an id of %d letters", c.ID, len(c.ID))
		}
	}
}

// docs/claims.md is made of the claims.
func TestPage(t *testing.T) {
	head, err := os.ReadFile("testdata/head.md")
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.NewBuffer(head)
	source := ""
	for _, c := range shipped(t) {
		if c.Source != source {
			source = c.Source
			fmt.Fprintf(b, "\n## %s\n\n", source)
			if c.Link != "" {
				fmt.Fprintf(b, "<%s>\n\n", c.Link)
			}
			fmt.Fprintf(b, "%s\n", c.Conditions)
		}
		fmt.Fprintf(b, "\n### %s\n\n%s\n\n", c.ID, c.Text)
		fmt.Fprintf(b, "* Published: %s (%s).\n* Tested by the study `%s`:\n", c.Published, c.Section, c.Study.Name)
		for _, test := range c.Tests {
			fmt.Fprintf(b, "  * %s: accepted is %s", test, test.Bounds())
			if p := test.Published(); p > 0 {
				fmt.Fprintf(b, ", published %.3g", p)
			}
			fmt.Fprintln(b, ".")
		}
		fmt.Fprintf(b, "* Tolerance: %s\n* Note: %s\n", c.Tolerance, c.Note)
	}
	if *update {
		if err := os.WriteFile(page, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%s is not what the claims make: run this test with -update and read the difference", page)
	}
}
