package probe

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// A native collects the first thing that is wrong with a result of `weir engine`.
type native struct{ err error }

// parseNative decodes the result of a workload into r, a pointer to a type of package
// event. On an error r may be incomplete, and measured returns that error.
func parseNative(out Output, workload string, r any) *native {
	n := &native{}
	if err := event.Read(out.Client, workload, r); err != nil {
		n.fail("%w", err)
	}
	return n
}

func (n *native) fail(format string, args ...any) {
	if n.err == nil {
		n.err = fmt.Errorf("weir engine: "+format, args...)
	}
}

// require records that the result is impossible unless ok.
func (n *native) require(ok bool, format string, args ...any) {
	if !ok {
		n.fail("impossible: "+format, args...)
	}
}

// measured returns the values and settings, unless something was wrong: err, or a
// number that arithmetic made infinite.
func (n *native) measured(protocol string, h event.Head, values []record.Value, settings map[string]any) (Measured, error) {
	n.require(h.Window > 0, "window is 0 s")
	for _, v := range values {
		n.require(!math.IsNaN(v.Value) && !math.IsInf(v.Value, 0) && v.Value >= 0, "%s is %g %s", v.Name, v.Value, v.Unit)
	}
	if n.err != nil {
		return Measured{}, n.err
	}
	found := map[string]string{"tool": "weir engine", "size": strconv.Itoa(h.Size)}
	for name, v := range settings {
		found[name] = fmt.Sprint(v)
		if f, ok := v.(float64); ok {
			found[name] = strconv.FormatFloat(f, 'f', -1, 64)
		}
	}
	m := Measured{Values: values, Observed: found, Protocol: protocol}
	if protocol != "tcp" {
		m.Datagram = h.Size
	}
	return m, nil
}

// histogram decodes a histogram; it returns nil and records why when there is none.
func (n *native) histogram(name, encoded string) *hdrhistogram.Histogram {
	h, err := event.DecodeHist(encoded)
	switch {
	case encoded == "":
		n.fail("%s is missing", name)
	case err != nil:
		n.fail("%s: %w", name, err)
	default:
		return h
	}
	return nil
}

// parts returns what response times consist of, by the kernel's stamps of some
// requests: rtt.path from the sender's first device to the receiver's namespace and
// back; rtt.wake from there to the program, at both ends; rtt.app the rest, which is
// the programs and sending down to the device, at both ends. rtt.stamped is the whole
// of these requests, which the parts add up to (medians need not); the stamps make it
// longer than rtt. parts returns nothing when the engine says why there are no stamps.
func (n *native) parts(r event.Split, whole *hdrhistogram.Histogram) []record.Value {
	if strings.HasPrefix(r.Stamps, event.NoStamps) {
		return nil
	}
	missing, out := r.Incomplete+r.Impossible, []record.Value{}
	for _, p := range []struct{ name, field, hist string }{
		{"rtt.path", "pathHist", r.PathHist}, {"rtt.wake", "wakeHist", r.WakeHist}, {"rtt.app", "appHist", r.AppHist}, {"rtt.stamped", "stampedHist", r.StampedHist},
	} {
		h := n.part(p.field, p.hist, whole)
		if h == nil {
			return nil
		}
		n.require(h.TotalCount() == r.Stamped-missing, "%s of %d requests, where %d of %d stamped ones lack a stamp", p.field, h.TotalCount(), missing, r.Stamped)
		out = append(out, record.Value{Name: p.name, Unit: "s", Value: quantile(h, 50), Hist: p.hist})
	}
	return out
}

// connect returns rtt.connect, the time until a connection was made.
func (n *native) connect(hist string, whole *hdrhistogram.Histogram) []record.Value {
	h := n.part("connectHist", hist, whole)
	if h == nil {
		return nil
	}
	n.require(h.TotalCount() == whole.TotalCount(), "%d connections for %d transactions", h.TotalCount(), whole.TotalCount())
	return []record.Value{{Name: "rtt.connect", Unit: "s", Value: quantile(h, 50), Hist: hist}}
}

// part reads the distribution of a part of response times. Each part is that of a
// request of the whole, and no longer than it, so for any time no more parts than
// response times can be above it.
func (n *native) part(field, encoded string, whole *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	h := n.histogram(field, encoded)
	if h == nil {
		return nil
	}
	if h.TotalCount() == 0 {
		n.fail("impossible: %s is empty", field)
		return nil
	}
	parts, wholes := h.Distribution(), whole.Distribution()
	above, over := int64(0), int64(0)
	for i, w := len(parts)-1, len(wholes)-1; i >= 0; i-- {
		above += parts[i].Count
		for ; w >= 0 && wholes[w].From >= parts[i].From; w-- {
			over += wholes[w].Count
		}
		if above > over {
			n.fail("impossible: %s has %d requests of %d ns or more, and only %d response times are that long", field, above, parts[i].From, over)
			return nil
		}
	}
	return h
}
