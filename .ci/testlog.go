// Testlog reads the output of "go test -json" and prints what a person wants to
// see: of failed tests everything, of skipped tests the reason, and at the end
// the summary lines of go test. Its argument is the file of tests that may be
// skipped when CI=true.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
)

const module = "github.com/weir-bench/weir/"

// An event is a line of go test -json (go doc test2json).
type event struct {
	Action, Package, Test, Output string
}

func main() {
	allowed, err := readSkips(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	l := log{output: map[string]string{}}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20) // a line of a test's output may be long
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Println(in.Text())
			continue
		}
		l.add(e)
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	refused := l.printSkips(allowed)
	for _, s := range l.summary {
		fmt.Print(s)
	}
	if l.failed || refused || len(l.summary) == 0 {
		os.Exit(1)
	}
}

// A log is what is kept of the events.
type log struct {
	output  map[string]string // by package and test
	skipped []event
	summary []string
	failed  bool
}

func (l *log) add(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Print(e.Output)
	case "output":
		if e.Test == "" && isSummary(e.Output) {
			l.summary = append(l.summary, e.Output)
			return
		}
		l.output[key] += e.Output
	case "fail", "build-fail":
		l.failed = true
		fmt.Print(l.output[key])
	case "skip":
		if e.Test != "" {
			e.Output = l.output[key]
			l.skipped = append(l.skipped, e)
		}
	}
	if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
		delete(l.output, key)
	}
}

func isSummary(s string) bool {
	return strings.HasPrefix(s, "ok  \t") || strings.HasPrefix(s, "FAIL\t") || strings.HasPrefix(s, "?   \t")
}

// printSkips prints the skipped tests and reports whether one of them must not be.
func (l *log) printSkips(allowed []string) (refused bool) {
	for _, e := range l.skipped {
		name := strings.TrimPrefix(e.Package, module) + "." + e.Test
		verdict := "skipped"
		if os.Getenv("CI") == "true" && !matches(allowed, name) {
			verdict, refused = "MUST NOT BE SKIPPED (.ci/skips)", true
		}
		fmt.Printf("%s: %s: %s\n", verdict, name, reason(e.Output))
	}
	return refused
}

// reason is the last line that a skipped test printed itself.
func reason(output string) string {
	last := ""
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "--- ") && !strings.HasPrefix(line, "=== ") {
			last = line
		}
	}
	return last
}

func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		// A pattern has no slash for each one in the name, so compare flat names.
		if ok, _ := path.Match(flat(p), flat(name)); ok {
			return true
		}
	}
	return false
}

func flat(s string) string { return strings.ReplaceAll(s, "/", ":") }

// readSkips returns the patterns of the file, each of which must have a reason.
func readSkips(name string) ([]string, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var patterns []string
	for i, line := range strings.Split(string(b), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, why, _ := strings.Cut(line, " ")
		if _, err := path.Match(pattern, ""); err != nil || strings.TrimSpace(why) == "" {
			return nil, fmt.Errorf("%s:%d: %q is not a pattern and a reason", name, i+1, line)
		}
		patterns = append(patterns, pattern)
	}
	return patterns, nil
}
