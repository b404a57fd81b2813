package probe

import (
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/record"
)

// What the engine's histograms of nanoseconds look like. Others are refused, for
// they could not be merged with these without loss.
const (
	histLowest  = 1
	histHighest = 60_000_000_000
	histDigits  = 3
	maxHist     = 1 << 20 // bytes of the encoding, far more than a full one takes
)

// histogram reads a histogram; nil with r.err set when there is none.
func (r *nativeResult) histogram(name string) *hdrhistogram.Histogram {
	encoded := r.text(name)
	if r.err != nil {
		return nil
	}
	if len(encoded) > maxHist {
		r.fail("%s has %d bytes, more than %d", name, len(encoded), maxHist)
		return nil
	}
	h, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		r.fail("%s: %w", name, err)
		return nil
	}
	if h.LowestTrackableValue() != histLowest || h.HighestTrackableValue() != histHighest || h.SignificantFigures() != histDigits {
		r.fail("%s: %d..%d with %d digits, not %d..%d with %d", name, h.LowestTrackableValue(), h.HighestTrackableValue(),
			h.SignificantFigures(), histLowest, int64(histHighest), histDigits)
		return nil
	}
	return h
}

// parts returns what response times consist of, by the kernel's stamps of some
// requests: rtt.path from the sender's first device to the receiver's namespace,
// there and back; rtt.wake from there to the program, at both ends; rtt.app the
// rest, which is the programs and sending down to the device, at both ends.
// rtt.stamped is the whole of these requests, which is what the parts add up to
// (medians need not); the stamps make it longer than rtt. parts returns nothing
// when the engine says why there are no stamps; for tcp-crr it returns rtt.connect.
func (r *nativeResult) parts(whole *hdrhistogram.Histogram) []record.Value {
	if r.text("workload") == "tcp-crr" {
		if h := r.part("connectHist", whole); h != nil {
			r.require(h.TotalCount() == whole.TotalCount(), "%d connections for %d transactions", h.TotalCount(), whole.TotalCount())
			return []record.Value{{Name: "rtt.connect", Unit: "s", Value: quantile(h, 50), Hist: r.text("connectHist")}}
		}
		return nil
	}
	if strings.HasPrefix(r.text("stamps"), "none: ") {
		return nil
	}
	stamped, out := r.count("stamped"), []record.Value{}
	missing := r.count("incomplete") + r.count("impossible")
	for _, p := range []struct{ name, field string }{
		{"rtt.path", "pathHist"}, {"rtt.wake", "wakeHist"}, {"rtt.app", "appHist"}, {"rtt.stamped", "stampedHist"},
	} {
		h := r.part(p.field, whole)
		if h == nil {
			return nil
		}
		r.require(float64(h.TotalCount()) == stamped-missing, "%s of %d requests, where %.0f of %.0f stamped ones lack a stamp", p.field, h.TotalCount(), missing, stamped)
		out = append(out, record.Value{Name: p.name, Unit: "s", Value: quantile(h, 50), Hist: r.text(p.field)})
	}
	return out
}

// part reads the distribution of a part of response times. Each part is that of a
// request of the whole, and no longer than it, so for any time no more parts than
// response times can be above it.
func (r *nativeResult) part(field string, whole *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	h := r.histogram(field)
	if h == nil {
		return nil
	}
	if h.TotalCount() == 0 {
		r.fail("impossible: %s is empty", field)
		return nil
	}
	parts, wholes := h.Distribution(), whole.Distribution()
	above, over := int64(0), int64(0)
	for i, n := len(parts)-1, len(wholes)-1; i >= 0; i-- {
		above += parts[i].Count
		for ; n >= 0 && wholes[n].From >= parts[i].From; n-- {
			over += wholes[n].Count
		}
		if above > over {
			r.fail("impossible: %s has %d requests of %d ns or more, and only %d response times are that long", field, above, parts[i].From, over)
			return nil
		}
	}
	return h
}
