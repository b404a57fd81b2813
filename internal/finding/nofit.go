package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

var noFit = Rule{
	ID:    "mtu-too-small",
	Title: "A device on the path of failed trials is too small",
	Doc: "Trials without a value, at least three, most of whose paths have a device with a smaller MTU than the plan needs there: packets that do not fit are cut or vanish, and a connection that was made with small packets then carries nothing. " +
		"An absolute rule about settings: what the trials failed of is in their reasons.",
	Check: rows(func(_ *analysis.Table, r *analysis.Row) []Finding {
		if r.Counted() > 0 {
			return nil
		}
		var f Finding
		share, ok := analysis.Mostly(r.WithoutValue(), func(o analysis.Observed) bool {
			hop, mtu, need, small := tooSmall(o)
			if small {
				f.Place = hop.In + " " + hop.Dev
				f.Text = lang.T("the MTU of %s is %d, the path needs %.0f there: larger packets do not pass it whole", f.Place, mtu, need)
				f.Remedy = lang.T("set its MTU to %.0f: ip link set %s mtu %.0f in %s", need, hop.Dev, need, hop.In)
				f.Evidence = []lang.Text{lang.T("small packets fit, so connections are made")}
			}
			return small
		})
		if !ok {
			return nil
		}
		f.Severity, f.Number = Warning, &Number{lang.T("trials without a value with it"), "1", share}
		f.Untestable = lang.T("without a value there is no ratio: measure the network with that MTU")
		return []Finding{f}
	}),
}
