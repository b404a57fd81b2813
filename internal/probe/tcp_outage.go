package probe

import (
	"cmp"
	"strconv"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// TCPOutage measures for how long a connection delivers nothing.
type TCPOutage struct {
	Rate int    `yaml:"rate"` // messages/s, 10 to 20000; default 1000
	Size int    `yaml:"size"` // bytes of message and answer, at least 64; default 64
	CC   string `yaml:"cc"`   // congestion control; default cubic
}

func (p TCPOutage) Info() Info {
	return Info{
		Title: "Outages of a TCP connection", Short: "TCP traffic", Unit: "s",
		About: "when and for how long an open connection delivers nothing (native)",
		Method: "Messages at a fixed rate over one connection, each of which is answered, as the programs see it: TCP sends again what the path lost, and an outage lasts until it has. " +
			outageMethod + " A connection that breaks is an outage until the end of the window.",
	}
}

func (p TCPOutage) Check() error {
	return cmp.Or(event.CheckOutages("tcp-outage", float64(or(p.Rate, event.DefaultMessages)), 0),
		event.CheckMessages("tcp-outage", or(p.Size, defaultMessage), 1), checkCC(p.CC))
}

func (p TCPOutage) Commands(w Window) (server, client []string) {
	return engineRun(w, "tcp-outage", or(p.Size, defaultMessage), append([]string{"--rate", strconv.Itoa(or(p.Rate, event.DefaultMessages))}, w.chooseCC("--cc", p.CC)...)...)
}

// Parse reads the values of outages, broken, and over both ends tcp.retransmitted and, where the kernel has them,
// tcp.timeouts (1) and tcp.timeouts.time (s) of each end. A connection that broke has none of the server's.
func (p TCPOutage) Parse(out Output) (Measured, error) {
	var r event.TCPOutages
	n := parseNative(out, "tcp-outage", &r)
	values := n.outages(r.Outages)
	broken := 0.0
	if r.Broken != nil {
		n.require(r.Broken.At >= r.Timeline.Begin, "broken at %d, before the window", r.Broken.At)
		broken = 1
	}
	values = append(values, record.Broken.Whole().Value("1", broken))
	if r.ClientTCP != nil && r.ServerTCP != nil {
		values = append(values, record.TCPRetransmitted.Whole().Value("1", r.ClientTCP.Retransmitted+r.ServerTCP.Retransmitted))
	}
	values = append(append(values, timers("client", r.Timers)...), timers("server", r.ServerTimers)...)
	return n.found("tcp", r.Outages, values, record.Congestion.Is(r.Congestion), record.ServerCongestion.Is(r.FarCongestion))
}

func timers(end string, t *event.Timers) []record.Value {
	if t == nil {
		return nil
	}
	return []record.Value{record.TCPTimeouts.At(end).Value("1", float64(t.Timeouts)), record.TCPTimeoutTime.At(end).Value("s", t.Time)}
}
