package claim

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/claims.md")

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
				t.Errorf("%s: %q is not a sentence", c.ID, text)
			}
		}
		// A longer name would push the table's verdict out of a terminal.
		if len(c.ID) > 35 {
			t.Errorf("%s: an id of %d letters", c.ID, len(c.ID))
		}
	}
}

// Bounds with the rule "half to twice the cost" follow it: on a logarithmic scale they are the square root of the
// ratio and its square, but no further from it than a factor of 2.5. The square of a large factor holds for anything.
func TestHalfToTwice(t *testing.T) {
	n := 0
	for _, c := range shipped(t) {
		if !strings.HasPrefix(c.Tolerance, "Half to twice") {
			continue
		}
		for _, test := range c.Tests {
			p := test.Published()
			if p == 0 {
				t.Errorf("%s: half to twice the cost needs a published ratio", c.ID)
				continue
			}
			n++
			least, most := max(min(math.Sqrt(p), p*p), p/2.5), min(max(math.Sqrt(p), p*p), p*2.5)
			if math.Abs(test.Least/least-1) > 0.05 || math.Abs(test.Most/most-1) > 0.05 {
				t.Errorf("%s, %s: %.3g accepts from %.3g to %.3g, not %s", c.ID, test, p, least, most, test.Bounds())
			}
		}
	}
	if n == 0 {
		t.Error("no claim has this reason: the test looks in the wrong place")
	}
}

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
		t.Errorf("%s does not match the claims; run this test with -update and review the difference", page)
	}
}
