package finding

import (
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

// sameRate is how far from the baseline's a rate can be to be the same.
const sameRate = 0.05

var toolLimited = Rule{
	ID:    "tool-limited",
	Title: "The measuring program is the limit",
	Doc: "The network is as fast as the baseline, within 5 % over the whole interval, and in both the same thread of the measuring program uses a whole CPU: the number shows that program's limit, and the network can be faster. " +
		"The baseline must have fewer devices on its path, as host has: two paths of one length can cost the same.",
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		if !r.Ratio.Bounded() || r.Ratio.Lo < 1-sameRate || r.Ratio.Hi > 1+sameRate || !r.Same || !strings.HasSuffix(t.Unit, "/s") {
			return nil
		}
		for i := range t.Rows {
			base := &t.Rows[i]
			name := engineFull(base)
			if !base.Baseline || name == "" || name != engineFull(r) || devices(base) >= devices(r) {
				continue
			}
			f := Finding{Severity: Note, Number: &Number{lang.T("rate ÷ %s's", base.Network), "1", r.Ratio},
				Text:   lang.T("as fast as %s, and the %s is full in both: it limits the number, not the network", base.Network, name),
				Remedy: lang.T("compare CPU time instead"), Untestable: lang.T("no cheaper way to send or receive the same packets is an option of the probe")}
			if options, what := cheaper(r, name); options != nil {
				f.Untestable, f.Test = "", &Test{Options: options, Metric: t.Metric, Factor: 1 + sameRate,
					Text: lang.T("Refuted if %s, which spares that program and not the network, adds less than %.0f %% %s", what, 100*sameRate, lang.Quantity(t.Metric))}
			}
			return []Finding{f}
		}
		return nil
	}),
}

// cheaper returns the option of the engine's streams that makes its full thread cheaper and leaves the packets as they
// are, and what it does; nil if there is none.
func cheaper(r *analysis.Row, full lang.Text) (options map[string]string, does lang.Text) {
	sends := strings.Contains(full.String(), "client")
	switch {
	case record.Tool.Of(r.Observed) != record.Engine:
	case sends && record.Send.Of(r.Observed) == "single":
		return map[string]string{"send": "mmsg"}, lang.T("one system call for many datagrams (sendmmsg)")
	case sends && record.MSS.In(r.Observed) && record.Send.Of(r.Observed) == "copy":
		return map[string]string{"sendfile": "true"}, lang.T("a sender that copies nothing (sendfile)")
	case !sends && record.MSS.In(r.Observed) && record.Recv.Of(r.Observed) != "discard":
		return map[string]string{"discard": "true"}, lang.T("a receiver that drops the bytes in the kernel")
	}
	return nil, ""
}

// devices returns the number of devices on a row's path.
func devices(r *analysis.Row) int {
	all := r.Evidence()
	if len(all) == 0 {
		return 0
	}
	return len(all[len(all)-1].Evidence.Path)
}

// engineFull describes the engine's thread that uses a whole CPU, "" if there is none.
func engineFull(r *analysis.Row) lang.Text {
	for _, t := range r.Threads() {
		if t.Full && !idles(t, r) && t.Engine() {
			return Describe(t).Name
		}
	}
	return ""
}
