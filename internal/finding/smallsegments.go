package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

const (
	// tcpOptions is how many bytes of a segment TCP's usual options take: timestamps (RFC 7323).
	tcpOptions = 12
	// smallSegment is the share of what fits below which segments are small: more options take less than that.
	smallSegment = 0.8
)

var smallSegments = Rule{
	ID:    "small-segments",
	Title: "TCP's segments are smaller than the path allows",
	Doc: "The payload of a segment (tcpi_snd_mss) is less than 80 % of what the planned MTU holds after the headers and timestamps: an end announced a smaller one (the option MSS, RFC 9293, section 3.7.1; a route's advmss), or a device of the path lowered it. " +
		"An absolute rule: the plan states the MTU. A smaller MTU that the kernel knows of explains it. It must hold in more than half of the blocks, of at least three.",
	Check: measured(func(_ *analysis.Table, r *analysis.Row) []Finding {
		mtu, segment := record.PathMTU.Of(r.Observed), record.MSS.Of(r.Observed)
		headers := 20 + 20 // IPv4, TCP
		if overIPv6(last(r).Evidence) {
			headers = 40 + 20
		}
		fits := mtu - headers - tcpOptions
		share, ok := analysis.Mostly(r.Evidence(), func(o analysis.Observed) bool {
			return record.MSS.In(o.Observed) && mtu > 0 && float64(record.MSS.Of(o.Observed)) < smallSegment*float64(fits)
		})
		if !ok {
			return nil
		}
		return []Finding{{Severity: Warning, Number: &Number{lang.T("trials with it"), "1", share},
			Text:       lang.T("TCP's segments carry %s bytes, although the path's MTU of %d has room for %s", prose.Thousands(float64(segment)), mtu, prose.Thousands(float64(fits))),
			Remedy:     lang.T("look for a route with advmss at the ends, and for rules that lower the segment size (maxseg, TCPMSS) on the path"),
			Untestable: lang.T("weir cannot know who lowered it")}}
	}),
}
