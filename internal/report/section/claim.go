package section

import (
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/published"
)

// claimSection has the published figures that the run tests.
func claimSection(s source) []doc.Section {
	if s.Claims == nil {
		return nil
	}
	x := published.ClaimSection(s.Claims)
	x.In = doc.Full
	return []doc.Section{x}
}
