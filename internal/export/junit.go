package export

import (
	"encoding/xml"
	"io"
	"strings"

	"github.com/weir-bench/weir/internal/foreign"
)

// A State is the outcome of a check.
type State int

const (
	Passed State = iota
	// Failed means that the check has found what it looks for, such as a regression.
	Failed
	// Errored means that something broke, so that there is nothing to check.
	Errored
	// Skipped means that the check cannot tell.
	Skipped
)

// A Case is one check of a command: a cell of a comparison, a claim, a line of a diagnosis.
type Case struct {
	Class string // "weir.compare"
	Name  string
	State State
	Why   string // one line; "" if it passed
	Text  string // the numbers, or a remedy; can have several lines
}

// JUnit writes checks as JUnit XML, in the elements and attributes that all its readers share: GitHub
// actions, GitLab and Jenkins (testdata/junit.xsd). Bytes that XML cannot hold become U+FFFD.
func JUnit(w io.Writer, suite string, cases []Case) error {
	type property struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type testcase struct {
		Class   string    `xml:"classname,attr"`
		Name    string    `xml:"name,attr"`
		Time    string    `xml:"time,attr"` // some readers demand one; a check takes none
		Failure *property `xml:"failure"`
		Error   *property `xml:"error"`
		Skipped *property `xml:"skipped"`
		Output  string    `xml:"system-out,omitempty"`
	}
	type testsuite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Time     string     `xml:"time,attr"`
		Cases    []testcase `xml:"testcase"`
	}
	s := testsuite{Name: suite, Tests: len(cases), Time: "0"}
	for _, c := range cases {
		t := testcase{Class: c.Class, Name: c.Name, Time: "0"}
		p := &property{c.Why, c.Text}
		switch c.State {
		case Passed:
			t.Output = c.Text
		case Failed:
			t.Failure, s.Failures = p, s.Failures+1
		case Errored:
			t.Error, s.Errors = p, s.Errors+1
		case Skipped:
			t.Skipped, s.Skipped = p, s.Skipped+1
		}
		s.Cases = append(s.Cases, t)
	}
	var b strings.Builder
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	err := e.Encode(struct {
		XMLName xml.Name    `xml:"testsuites"`
		Suites  []testsuite `xml:"testsuite"`
	}{Suites: []testsuite{s}})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, foreign.Text(b.String())+"\n")
	return err
}
