package engine

import (
	"bytes"
	"strings"
	"testing"
)

// Every order, good or bad, ends with one result or error, and the next one is served.
func TestAgent(t *testing.T) {
	orders := strings.Join([]string{
		`["reach","127.0.0.1:9","--size","100","--timeout","1ms"]`,
		`["warp"]`,
		`no json`,
		`[]`,
		`["ping","nowhere"]`,
	}, "\n") + "\n"
	var out, errs bytes.Buffer
	if err := Agent(t.Context(), strings.NewReader(orders), &out, &errs); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines for 5 orders:\n%s", len(lines), &out)
	}
	for i, want := range []string{"no packet", "unknown command", "JSON array", "no command", "nowhere"} {
		if !strings.HasPrefix(lines[i], `{"event":"error"`) || !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %s, want an error about %q", i+1, lines[i], want)
		}
	}
}
