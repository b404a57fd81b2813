package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

const (
	// waitsFor is the least share of the time that a loop of requests spends beyond its median response.
	waitsFor = 0.5
	// shortest is the least length of a wait, in medians: a shorter one is not the work of a timer.
	shortest = 5
)

var slowResponses = Rule{
	ID:    "slow-responses",
	Title: "Few responses take most of the time",
	Doc: "A loop that sends the next request when the last one is answered would complete one per median response time. The rule reports one that spends more than half of its time beyond that, where the baseline's under the same probe does not: the median hides what the slow responses cost. " +
		"It counts those of 200 ms, 1 s and 3 s or longer. Where TCP sent segments again, and the other end did not get most of them twice (TCPDSACKRecv in /proc/net/netstat), these are the kernel's timers: the least retransmission timeout is 200 ms (TCP_RTO_MIN, include/net/tcp.h), a lost SYN is sent again after 1 s (TCP_TIMEOUT_INIT), and once more after 3 s. Loops with a rate of their own are left out, and so are waits for a CPU, unless the timers are named." + majority + certainly,
	Check: func(run *analysis.Run) []Finding {
		return measured(func(t *analysis.Table, r *analysis.Row) []Finding {
			if r.Hist == nil || record.Rate.In(r.Observed) || record.Streams.Of(r.Observed) > 1 {
				return nil
			}
			share, ok := beyondMedian(r.Evidence())
			base, _ := beyondMedian(r.BaseEvidence())
			if !ok || !clearly(share, waitsFor) || base.N > 0 && !more(share, base) || r.BaseEvidence() == nil && record.Tool.Of(r.Observed) != record.Engine {
				return nil
			}
			done, _ := r.Get(record.Transactions)
			f := Finding{Severity: Warning, Number: &Number{lang.T("time beyond the median response"), "1", share},
				Text:       lang.T("%s transactions per second, where the median response time of %s allows %s", prose.Short(done.Median), unit.Format(r.Value.Center, "s"), prose.Thousands(1/r.Value.Center)),
				Untestable: lang.T("no cause is known that a run could remove")}
			if there, has := t.Row(run.Baseline); has && r.RatioOf(record.Transactions).Bounded() {
				i, was := r.RatioOf(record.Transactions), 0.0
				if v, ok := there.Get(record.Transactions); ok {
					was = v.Median
				}
				f.Text += lang.T("; %s's %s: %s× %s", run.Baseline, prose.Thousands(was), prose.Short(i.Center), prose.Brackets(i, prose.Short))
			}
			slow, named := timers(r)
			f.Text, f.certain = f.Text+slow, named
			return []Finding{f}
		})(run)
	},
}

// beyondMedian returns the share of the time in which a closed loop did not answer at its median.
func beyondMedian(all []analysis.Observed) (stat.Interval, bool) {
	return analysis.ShareExceeds(all, waitsFor, func(o analysis.Observed) (part, whole float64) {
		done, a := o.Get(record.Transactions)
		rtt, b := o.Get(record.RTT)
		if !a || !b {
			return 0, 0
		}
		return max(0, 1-done.Value*rtt.Value), 1
	})
}

// timers counts the responses that took as long as the kernel's timers, and names these if segments were sent again:
// then no wait for a CPU explains them.
func timers(r *analysis.Row) (text lang.Text, named bool) {
	const late = 0.95 // a timer's tick can end early in a histogram's bin
	var n [len(timeouts)]int64
	for _, b := range r.Hist.Distribution() {
		for i, s := range timeouts {
			if float64(b.From) >= late*s*1e9 {
				n[i] += b.Count
			}
		}
	}
	if n[0] == 0 || r.Value.Center > 0.2/shortest {
		return "", false
	}
	text = lateOnes(n, r.Hist.TotalCount())
	again, twice := 0.0, 0.0
	for _, o := range r.Evidence() {
		again += retransmitted(o.Evidence) + retransmitted(reversed(o.Evidence))
		for _, c := range o.Evidence.Nodes {
			twice += c["netstat.TCPDSACKRecv"]
		}
	}
	if last(r).Evidence.Protocol != "tcp" {
		return text, false
	}
	if again < float64(n[0])/2 {
		return text + lang.T("; TCP sent next to nothing again, so why is not known"), false
	}
	if twice >= again/2 {
		return text + lang.T("; most of what TCP sent again had arrived and was late, and why is not known"), false
	}
	if n[1] == 0 {
		return text + lang.T(": TCP sends a lost segment again after 200 ms or more"), true
	}
	return text + lang.T(": TCP sends a lost segment again after 200 ms or more, and a lost SYN after 1 s and 3 s"), true
}

// timeouts are those of the kernel's timers, s, ascending.
var timeouts = [3]float64{0.2, 1, 3}

// lateOnes says how many of all responses took as long as each of the timers: those that none took are left out, and so is one that all
// of its responses exceeded up to the next.
func lateOnes(n [len(timeouts)]int64, all int64) (text lang.Text) {
	for i, s := range timeouts {
		switch last := i+1 == len(n); {
		case n[i] == 0 || !last && n[i+1] == n[i]:
		case text == "":
			text = lang.T("; of %s responses, %s took %s or longer", prose.Thousands(float64(all)), prose.Thousands(float64(n[i])), unit.Format(s, "s"))
		default:
			text += lang.T(", %s of them %s or longer", prose.Thousands(float64(n[i])), unit.Format(s, "s"))
		}
	}
	return text
}
