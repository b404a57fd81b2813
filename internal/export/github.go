package export

import (
	"fmt"
	"io"
	"strings"

	"github.com/weir-bench/weir/internal/foreign"
)

// mostAnnotations is how many annotations of a kind GitHub shows for a step; it drops the rest
// (https://docs.github.com/en/rest/checks/runs).
const mostAnnotations = 10

// Annotations writes checks as workflow commands of GitHub Actions
// (https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions): failed and broken
// checks as errors, checks that cannot tell as warnings, and nothing for those that passed.
func Annotations(w io.Writer, suite string, cases []Case) error {
	all := map[string][]Case{}
	for _, c := range cases {
		if kind := [...]string{Failed: "error", Errored: "error", Skipped: "warning"}[c.State]; kind != "" {
			all[kind] = append(all[kind], c)
		}
	}
	var b strings.Builder
	for _, kind := range []string{"error", "warning"} {
		shown := all[kind]
		if n := len(shown) - mostAnnotations; n > 0 {
			shown = append(shown[:mostAnnotations-1:mostAnnotations-1], Case{Name: suite, Why: fmt.Sprintf("and %d more", n+1)})
		}
		for _, c := range shown {
			text := strings.TrimSuffix(c.Why+"\n"+c.Text, "\n")
			fmt.Fprintf(&b, "::%s title=%s::%s\n", kind, foreign.Property(c.Name), foreign.Command(text))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
