package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/header"
	"github.com/weir-bench/weir/internal/unit"
)

var linkLimited = Rule{
	ID:    "link-limited",
	Title: "The link is the limit",
	Doc: "A link has a ceiling that follows from its rate and the headers around the payload. A network that reaches it to within 2 % could go faster: " +
		"what it costs shows in CPU time only.",
	Check: rows(func(t *analysis.Table, r *analysis.Row) []Finding {
		if !header.LinkLimited(r.Value.Center, r.Wire.Ceiling) {
			return nil
		}
		return []Finding{{Severity: Note,
			Text:     "at the ceiling that the headers leave of the link: this number follows from arithmetic, compare CPU time instead",
			Evidence: []string{unit.Format(r.Value.Center, t.Unit) + " of " + unit.Format(r.Wire.Ceiling, t.Unit)}}}
	}),
}
