package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/header"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/unit"
)

var linkLimited = Rule{
	ID:    "link-limited",
	Title: "The link is the limit",
	Doc: "A link's rate and the headers around the payload give a ceiling. A network within 2 % of it could go faster: " +
		"its cost shows only in CPU time.",
	Check: rows(func(t *analysis.Table, r *analysis.Row) []Finding {
		if !header.LinkLimited(r.Value.Center, r.Wire.Ceiling) {
			return nil
		}
		return []Finding{{Severity: Note,
			Text:     lang.T("at the ceiling that the headers leave of the link: arithmetic sets this number; compare CPU time instead"),
			Evidence: []lang.Text{lang.Text(unit.Format(r.Value.Center, t.Unit)) + lang.T(" of ") + lang.Text(unit.Format(r.Wire.Ceiling, t.Unit))}}}
	}),
}
