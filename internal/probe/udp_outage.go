package probe

import (
	"cmp"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// UDPOutage measures for how long the path delivers nothing, in each direction.
type UDPOutage struct {
	Rate int `yaml:"rate"` // requests/s, 10 to 20000; default 2000
	Size int `yaml:"size"` // bytes of request and reply, at least 64; default 64
}

func (p UDPOutage) Info() Info {
	return Info{
		Title: "Outages of UDP", Short: "UDP traffic", Unit: "s", Datagrams: true,
		About: "when and for how long the path delivers no UDP datagrams, each way (native)",
		Method: "Requests at a fixed rate, each of which is answered. The kernels stamp what arrives, and every reply tells when its request arrived and what arrived before. " +
			outageMethod + " The ways are told apart by what the server received. While no request reaches it, the way back carries nothing and shows nothing.",
	}
}

// outageMethod says which gaps are outages.
const outageMethod = "An outage is a gap between arrivals that is longer than 1 ms and than three intervals, less one interval. " +
	"A time in which the sender or the server had no CPU is not an outage."

func (p UDPOutage) Check() error {
	return cmp.Or(event.CheckOutages("udp-outage", float64(or(p.Rate, event.DefaultRequests)), 0),
		event.CheckMessages("udp-outage", or(p.Size, defaultMessage), 1))
}

func (p UDPOutage) Commands(w Window) (server, client []string) {
	return engineRun(w, "udp-outage", or(p.Size, defaultMessage), "--rate", strconv.Itoa(or(p.Rate, event.DefaultRequests)))
}

// Parse reads the values of outages, those of the way to each end, unless it is not known where the last requests were lost,
// and duplicated and reordered.
func (p UDPOutage) Parse(out Output) (Measured, error) {
	var r event.Outages
	n := parseNative(out, "udp-outage", &r)
	values := n.outages(r)
	if n.err != nil {
		return Measured{}, n.err
	}
	if r.Lost.Unknown == 0 {
		values = append(append(values, way("server", r.There)...), way("client", r.Back)...)
		values = append(values, record.LostRequests.At("server").Value("1", float64(r.Lost.There)), record.LostRequests.At("client").Value("1", float64(r.Lost.Back)))
	}
	if r.Answered > 0 {
		values = append(values, record.Duplicated.Whole().Value("1", float64(r.Duplicates)/float64(r.Answered)),
			record.Reordered.Whole().Value("1", float64(r.Reordered)/float64(r.Answered)))
	}
	return n.found("udp", r, values)
}

// outages checks a result and returns its values of the round trip: those of way, lost, pause of each end, late, transactions,
// requests, loss, those of own, and window. Nil after an error.
func (n *native) outages(r event.Outages) []record.Value {
	if n.err == nil {
		if err := r.Check(); err != nil {
			n.fail("impossible: %w", err)
		}
	}
	n.require(r.Window > 0 && r.Requests > 0, "%d requests in a window of %g s", r.Requests, r.Window)
	if n.err != nil {
		return nil
	}
	values := append(way("", r.RoundTrip),
		record.LostRequests.Whole().Value("1", float64(r.Lost.Sum())),
		record.Pause.At("client").Value("s", ns(r.ClientPause)), record.Pause.At("server").Value("s", ns(r.ServerPause)),
		record.Late.Whole().Value("1", float64(r.Offered-r.Requests)/float64(r.Offered)),
		record.Transactions.Whole().Value("1/s", float64(r.Answered)/r.Window))
	values = append(append(values, lost(float64(r.Lost.Sum()), float64(r.Requests))...), n.own(r.Window, r.Own)...)
	return append(values, record.Window.Whole().Value("s", r.Window))
}

// found is measured, with the outages added.
func (n *native) found(protocol string, r event.Outages, values []record.Value, settings ...record.Observation) (Measured, error) {
	m, err := n.measured(protocol, r.Head, values, append(settings, record.Stamps.Is(r.Stamps), record.Rate.Is(r.Rate), record.SndBuf.Is(r.SndBuf), record.RcvBuf.Is(r.RcvBuf))...)
	if err == nil {
		m.Outages = &r
	}
	return m, err
}

// way returns outage, outages.total and outages of a way, of the round trip for "".
func way(end string, g event.Gaps) []record.Value {
	return []record.Value{record.Outage.At(end).Value("s", ns(g.Longest)), record.OutagesTotal.At(end).Value("s", ns(g.Total)),
		record.Outages.At(end).Value("1", float64(g.Count))}
}

func ns(t int64) float64 { return time.Duration(t).Seconds() }
