package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

// stopped is the least share of periods in which a CPU limit must stop an end to count.
const stopped = 0.05

// CPULimit is the ID of the rule about limits that stop an end: its warning comes before any number.
const CPULimit = "cpu-limit"

var cpuLimit = Rule{
	ID:    CPULimit,
	Title: "A CPU limit stops an end",
	Doc: "The control group of an end, or one above it, has a CPU limit (cpu.max, a Kubernetes limit) and stopped its programs in more than 5 % of its periods, usually of 100 ms, while the trial ran (nr_throttled of nr_periods in cpu.stat). " +
		"A program that is stopped sends, reads and acknowledges nothing, so this outranks waiting for a CPU, closed windows, full buffers and full threads." + majority + certainly,
	Check: measured(func(_ *analysis.Table, r *analysis.Row) (out []Finding) {
		for _, end := range []struct {
			name lang.Text
			of   func(*evidence.Trial) evidence.End
		}{{lang.T("sender"), func(t *evidence.Trial) evidence.End { return t.Sender }}, {lang.T("receiver"), func(t *evidence.Trial) evidence.End { return t.Receiver }}} {
			e, other := end.of(last(r).Evidence), last(r).Evidence.Sender
			if out != nil && e.Host == other.Host {
				continue // one group
			}
			share, ok := analysis.ShareExceeds(r.Evidence(), stopped, func(o analysis.Observed) (part, whole float64) {
				c := o.Evidence.Hosts[end.of(o.Evidence).Host]
				return c["quota.throttled"], c["quota.periods"]
			})
			if !ok || !clearly(share, stopped) {
				continue
			}
			who := lang.T("%s in %s", end.name, e.Node)
			if last(r).Evidence.Sender.Host == last(r).Evidence.Receiver.Host {
				who = lang.T("ends")
			}
			out = append(out, Finding{Severity: Warning, Place: e.Node, Subject: who, Number: &Number{lang.T("periods in which the limit stopped the %s", who), "1", share},
				Text:       lang.T("the CPU limit of a control group stopped the %s in %s of its periods", who, prose.PercentWithin(share)),
				Remedy:     lang.T("remove the limit (cpu.max; in Kubernetes the container's CPU limit, and a LimitRange that sets one), and keep requests"),
				Untestable: lang.T("weir changes no limit that it did not set; the study in a group without a limit is the test")})
		}
		return out
	}),
}
