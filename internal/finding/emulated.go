package finding

import (
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

var emulated = Rule{
	ID:    "emulated",
	Title: "Measured under emulation",
	Doc: "QEMU without KVM interprets every instruction of its guest. Some kernel work slows down more than other work, " +
		"so neither absolute numbers nor ratios carry over to real hardware.",
	Check: func(run *analysis.Run) (out []Finding) {
		for _, place := range []struct {
			fact  record.Fact[string]
			value string
			name  lang.Text
		}{
			{record.Accelerator, "tcg", lang.T("emulated guests")}, {record.Guest, "qemu-tcg", lang.T("an emulated machine")},
		} {
			n := 0
			for r := range run.Results() {
				if strings.Contains(place.fact.Of(r.Observed), place.value) {
					n++
				}
			}
			if n > 0 {
				out = append(out, Finding{Severity: Warning,
					Text: lang.T("%d of %d trials ran in %s (QEMU without KVM): the numbers say nothing about absolute speed, and ratios mostly reflect the cost of emulation",
						n, run.Trials(), place.name)})
			}
		}
		return out
	},
}
