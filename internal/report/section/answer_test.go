package section

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A screen is 24 × 80, and the command line adds an empty line, where the page is and what to run next.
const screenLines, screenColumns, added = 24, 80, 3

func brief(t *testing.T, d *doc.Document, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := render.Brief(&b, d, width, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The answer is the first that a reader sees, on a terminal and in the whole report, and fits a screen with its numbers.
func TestAnswerFirst(t *testing.T) {
	const first, zh = "Compared with the host network, a VXLAN overlay keeps 65 % [62, 68] of TCP throughput", "与主机网络相比"
	d := Report(reporttest.Analyzed(reporttest.Run(t)))
	for width, most := range map[int]int{screenColumns: screenLines - added, 100: screenLines - added} {
		for l, begin := range map[*lang.Language]string{nil: first, lang.Chinese: zh} {
			d.Lang = l
			text := brief(t, d, width)
			if at := strings.Index(strings.Join(strings.Fields(text), " "), begin); at != 0 {
				t.Errorf("%d columns: the answer begins at %d of\n%s", width, at, text)
			}
			if n := strings.Count(text, "\n"); n > most {
				t.Errorf("%d lines, want %d at most:\n%s", n, most, text)
			}
			for line := range strings.Lines(text) {
				if n := lang.Columns(strings.TrimRight(line, "\n")); n > width {
					t.Errorf("a line of %d columns: %s", n, line)
				}
			}
		}
	}
	d.Lang = nil
	var whole bytes.Buffer
	if err := render.Text(&whole, d, screenColumns); err != nil || !strings.HasPrefix(whole.String(), brief(t, d, screenColumns)[:200]) {
		t.Errorf("the whole report begins otherwise: %v\n%.400s", err, whole.String())
	}
	if len(d.Answer) != 3 || !strings.HasPrefix(d.Answer[0], "\uFDD0") || doc.English(d.Answer[1]) != "A bridge keeps 85 % [79, 91] of UDP throughput, and adds 4.86 µs (+22 % [17, 28]) to the UDP response time." {
		t.Errorf("%q", lang.In(nil, d.Answer))
	}
}

// One line may precede the answer: a warning that could change it, with its remedy.
func TestLead(t *testing.T) {
	r := reporttest.Run(t)
	disturb(r)
	text := brief(t, Report(reporttest.Analyzed(r)), screenColumns)
	lead, rest, _ := strings.Cut(text, "\n")
	if words := len(strings.Fields(lead)); !strings.HasPrefix(lead, "! Busy machine: ") || words > 15 || !strings.HasPrefix(rest, "Compared with the host network,") {
		t.Errorf("%d words before the answer:\n%s", words, text)
	}
	if n := strings.Count(text, "\n"); n > screenLines-added {
		t.Errorf("%d lines:\n%s", n, text)
	}
}

// A CPU limit that stopped an end comes before every other warning: it alone makes the numbers.
func TestLeadOfLimit(t *testing.T) {
	r := withEvidence(t)
	for _, e := range r.Evidence {
		e.Hosts = map[string]sample.Counters{"": {"quota.periods": 10, "quota.throttled": 9}}
	}
	text := brief(t, Report(reporttest.Again(r)), screenColumns)
	if lead, _, _ := strings.Cut(text, "\n"); lead != "! A CPU limit stopped an end in 90 % [90, 90] of its periods: remove it." {
		t.Errorf("%s", text)
	}
}

// A network that does not work comes before the answer, and one that could not run here after it, unless nothing else answers.
func TestWithout(t *testing.T) {
	r := reporttest.Run(t)
	end := func(network string, status record.Status) []string {
		for i := range r.Results {
			if x := &r.Results[i]; x.Config["network"] == network {
				x.Status, x.Reason, x.Values = status, "client: connection refused", nil
			}
		}
		return lang.In(nil, Report(reporttest.Again(r)).Answer)
	}
	const compared, bridge = "Compared with the host network, a VXLAN overlay keeps", "bridge: no result (client: connection refused)."
	for status, failed := range map[record.Status]bool{record.Failed: true, record.Invalid: true, record.Skipped: false} {
		got := end("bridge", status)
		first, last := got[0], got[len(got)-1]
		if failed && (first != bridge || !strings.HasPrefix(got[1], compared)) || !failed && (last != bridge || !strings.HasPrefix(first, compared)) {
			t.Errorf("%s: %q", status, got)
		}
	}
	end("bridge", record.Failed)
	if got := end("host", record.Failed); got[0] != "host and bridge: no result (client: connection refused)." {
		t.Errorf("nothing can be compared: %q", got)
	}
}

// Too few blocks do not show that networks are equal.
func TestTooFewBlocks(t *testing.T) {
	r := reporttest.Run(t)
	few := r.Results[:0]
	for _, x := range r.Results {
		if x.Block <= 3 {
			few = append(few, x)
		}
	}
	r.Results = few
	got := strings.Join(lang.In(nil, Report(reporttest.Analyzed(r)).Answer), " ")
	if !strings.Contains(got, "Too few blocks to tell: 3 of at least ") || strings.Contains(got, "No difference") {
		t.Error(got)
	}
}

// itself names networks as the study does.
func itself(network string) string { return network }

// The answer names what the catalog knows for people, and leaves a name that the user gave as it is.
func TestNouns(t *testing.T) {
	r := reporttest.Run(t)
	for i := range r.Spec.Networks {
		if u := &r.Spec.Networks[i]; u.Kind == "bridge" {
			u.Kind = "vxlan" // {use: vxlan, name: bridge}
		}
	}
	d := Report(reporttest.Analyzed(r))
	if got := lang.In(nil, d.Answer); !strings.HasPrefix(got[0], "Compared with the host network, a VXLAN overlay keeps") || !strings.HasPrefix(got[1], "bridge keeps") {
		t.Errorf("%q", got)
	}
	if got := lang.In(lang.Chinese, d.Answer); !strings.HasPrefix(got[0], "与主机网络相比，VXLAN overlay 达到其") {
		t.Errorf("%q", got)
	}
}

// What another tool measured has its name behind it.
func TestValueOfTool(t *testing.T) {
	w := account.Words{"iperf3-tcp": {Short: "TCP by iperf3"}, "fping": {Short: "ping by fping"}, "tcp-stream": {Short: "TCP"}, "gso": {Short: "UDP with GSO"}}
	for probe, want := range map[string]string{"gso": "UDP throughput with GSO", "iperf3-tcp": "TCP throughput by iperf3", "tcp-stream": "TCP throughput"} {
		if got := doc.English(Value(w, probe, record.Throughput)); got != want {
			t.Errorf("%s: %q, want %q", probe, got, want)
		}
	}
	if got := doc.English(Value(w, "fping", record.RTT)); got != "ping response time by fping" {
		t.Error(got)
	}
}

func between(center, lo, hi float64) stat.Interval {
	return stat.Interval{Center: center, Lo: lo, Hi: hi, N: 20, Confidence: 0.99}
}

// Percent and amounts, never a difference that was not shown; of many networks those that differ most.
func TestTell(t *testing.T) {
	const tcp, wait, late = "TCP throughput", "UDP response time", "loss"
	rate := func(n string, i stat.Interval) Effect {
		return Effect{Network: n, Of: tcp, Metric: record.Throughput, Unit: "bit/s", Ratio: i, Detectable: 0.2}
	}
	reply := Effect{Network: "a", Of: wait, Metric: record.RTT, Unit: "s", Ratio: between(1.3, 1.26, 1.35), Difference: between(16e-6, 14e-6, 19e-6)}
	saved := reply
	saved.Ratio, saved.Difference = between(0.7, 0.66, 0.75), between(-16e-6, -19e-6, -14e-6)
	none := rate("b", between(0.97, 0.8, 1.1))
	noisy := rate("b", between(0.97, 0.0001, 9000))
	noisy.Detectable = 16463
	stalls := rate("a", between(0.0003, 0, 0.116))
	stalls.At = "stalled in 5 of 10 trials"
	for want, all := range map[string][]Effect{
		"Compared with host, a keeps 71 % [67, 75] of TCP throughput, and adds 16 µs (+30 % [26, 35]) to the UDP response time.":                                             {rate("a", between(0.71, 0.67, 0.75)), reply},
		"Compared with host, a saves 16 µs (−30 % [−34, −25]) of the UDP response time.":                                                                                     {saved},
		"Compared with host, a keeps at most 12 % of TCP throughput (stalled in 5 of 10 trials).":                                                                            {stalls},
		"Compared with host, a gains 20 % [10, 30] of TCP throughput.":                                                                                                       {rate("a", between(1.2, 1.1, 1.3))},
		"Compared with host, a has 4.00 times [3.50, 4.50] the TCP throughput.":                                                                                              {rate("a", between(4, 3.5, 4.5))},
		"Compared with host, a has 2.00 times [1.50, 2.50] the loss.":                                                                                                        {{Network: "a", Of: late, Metric: record.Loss, Unit: "1", Ratio: between(2, 1.5, 2.5)}},
		"No difference from host was seen in TCP throughput of b; one of 20 % would have shown.":                                                                             {none},
		"Too noisy to tell, because a factor of two could hide: TCP throughput of b.":                                                                                        {noisy},
		"No difference from host was seen in TCP throughput of b; one of 20 % would have shown. Too noisy to tell, because a factor of two could hide: TCP throughput of b.": {none, noisy},
		"Of 5 networks, 4 differ from host. The largest effects: a keeps 10.0 % [9.0, 11.0] of TCP throughput; c keeps 20.0 % [19.0, 21.0] of TCP throughput; d keeps 30.0 % [29.0, 31.0] of TCP throughput. Too noisy to tell, because a factor of two could hide: TCP throughput of b.": {
			rate("e", between(0.9, 0.88, 0.93)), rate("d", between(0.3, 0.29, 0.31)), noisy, rate("c", between(0.2, 0.19, 0.21)), rate("a", between(0.1, 0.09, 0.11))},
		"Too noisy to tell, because a factor of two could hide: 5 of 5 comparisons.": {noisy, noisy, noisy, noisy, noisy},
		"Too few.": {rate("a", stat.Interval{Center: 0.3, N: 3})},
		"Compared with host, a keeps 50 % [40, 60] of TCP throughput. No other difference was seen (1 of 3 comparisons); one of 20 % would have shown. Too few blocks for the other 1 of 3 comparisons.": {
			rate("a", between(0.5, 0.4, 0.6)), none, rate("c", stat.Interval{Center: 0.3, N: 3})},
		"Of 5 networks, 4 differ from host. The largest effects: a keeps 10.0 % [9.0, 11.0] of TCP throughput; c keeps 20.0 % [19.0, 21.0] of TCP throughput; d keeps 30.0 % [29.0, 31.0] of TCP throughput. No difference was seen of b. No other difference was seen (1 of 5 comparisons); one of 20 % would have shown.": {
			rate("e", between(0.9, 0.88, 0.93)), rate("d", between(0.3, 0.29, 0.31)), none, rate("c", between(0.2, 0.19, 0.21)), rate("a", between(0.1, 0.09, 0.11))},
	} {
		if got := strings.Join(lang.In(nil, Tell(all, "host", "Too few.", itself)), " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if Tell(nil, "host", "few", itself) != nil {
		t.Error("no effect needs no sentence")
	}
}

// The explanation that leads is one of the network that differs most, and no failure.
func TestBecause(t *testing.T) {
	s := newSource(reporttest.Analyzed(reporttest.Run(t)))
	why := s.Why()
	if got := s.because(); got != "" && len(why.Networks) == 0 {
		t.Error(got)
	}
	for _, n := range why.Networks {
		for _, x := range n.Statements {
			if x.Subject == explain.Failure && strings.Contains(s.because(), x.Text.String()) {
				t.Error("a failure explains no difference")
			}
		}
	}
}

// A ratio without an upper end, or with 0 as the lower one, bounds nothing, so no difference "would have shown".
func TestTellOpen(t *testing.T) {
	open := Effect{Network: "vxlan", Of: "TCP throughput", Unit: "bit/s", Detectable: math.MaxFloat64,
		Ratio: stat.Interval{Center: 1.2, Lo: 0.8, Hi: math.MaxFloat64, Confidence: 0.95, N: 20}}
	narrow := Effect{Network: "bridge", Of: "TCP throughput", Unit: "bit/s", Detectable: 0.04,
		Ratio: stat.Interval{Center: 1, Lo: 0.97, Hi: 1.03, Confidence: 0.95, N: 20}}
	zero := open
	zero.Ratio.Lo, zero.Ratio.Hi = 0, 1.5
	const want = "No difference from host was seen in TCP throughput of bridge; one of 4.0 % would have shown. " +
		"In 1 of 3 comparisons, nothing bounds the ratio from above: host carried nothing in too many trials, or the network had no response. " +
		"In 1 of 3 comparisons, nothing bounds the ratio from below: the network carried nothing in too many trials, or host had no response."
	if got := strings.Join(lang.In(nil, Tell([]Effect{open, narrow, zero}, "host", "", func(n string) string { return n })), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Where no earlier run is known, the answer says what another one would show if runs differ as they usually do.
func TestOtherRun(t *testing.T) {
	s := newSource(reporttest.Analyzed(reporttest.Run(t)))
	got := lang.Text(s.otherRun()).String()
	if !strings.HasPrefix(got, "If runs differ by the usual 5 %, ") || !strings.HasSuffix(got, " over others.") {
		t.Errorf("%q", got)
	}
	for table, r := range s.p.Rows() {
		if e := s.effect(*table, *r); e.shown() {
			if i := s.p.Likely(r.Ratio); i.Lo > r.Ratio.Lo || i.Hi < r.Ratio.Hi || i.Hi/i.Lo <= r.Ratio.Hi/r.Ratio.Lo {
				t.Errorf("%s: other runs %+v, this one %+v", r.Network, i, r.Ratio)
			}
		}
	}
}

// What a failed command said comes before its command line.
func TestOften(t *testing.T) {
	line := "tc qdisc add dev eth0 root handle 1: netem limit 1000000000000000000000 delay 10ms loss 1% duplicate 5%"
	failed := analysis.Point{Reason: "step 2 of 3, in h1: " + line + ": exit status 1: Illegal limit"}
	if got, want := short(often([]analysis.Point{{Reason: "x"}, failed, failed})), "in h1: exit status 1: Illegal limit"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The medians beside a ratio may differ from it where the machine changed; where they contradict it, the text says why.
func TestContradicted(t *testing.T) {
	for want, g := range map[bool]glanced{
		true:  {base: 92.5, own: 62.3, ratio: between(1.02, 0.9, 1.2)},
		false: {base: 92.5, own: 100, ratio: between(1.02, 1.01, 1.03)},
	} {
		if got := g.contradicted(); got != want {
			t.Errorf("%+v: %v", g, got)
		}
	}
}

// A run of flags alone that compares levels asks about their factor.
func TestQuestionOfLevels(t *testing.T) {
	f := contrastRuns["few"]
	f.question = custom
	if got := doc.English(Question(reporttest.Analyzed(f.run()))); got != "What does mtu change for host and bridge?" {
		t.Error(got)
	}
}
