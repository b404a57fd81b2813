package probe

import (
	"cmp"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// Ping measures ICMP echo times on a fixed schedule. It needs no server, but CAP_NET_RAW or a group
// in net.ipv4.ping_group_range.
type Ping struct {
	Size     int           `yaml:"size"`     // bytes of data; default 56
	Interval time.Duration `yaml:"interval"` // from one request to the next; default 10 ms
}

// directICMP is Info.Direct of probes of ICMP.
const directICMP = "sends ICMP, which has no ports and would be answered by another machine, or by none"

func (p Ping) Info() Info {
	return Info{
		Title: "Ping", Short: "ping", Unit: "s",
		About:    "ICMP echo time (native)",
		Method:   "ICMP echo, answered by the kernel. Lost requests have no response time; loss is their share of all.",
		Measures: echoTime, Datagrams: true,
		Differs: "median, after a warm-up",
		Direct:  directICMP,
	}
}

func (p Ping) Check() error {
	return cmp.Or(event.Within("ping: size", or(p.Size, defaultEcho), 0, event.MaxDatagram, "bytes"),
		event.Within("ping: interval", or(p.Interval, defaultInterval), event.MinPing, event.MaxPing, ""))
}

// Every is the time between requests.
func (p Ping) Every() time.Duration { return or(p.Interval, defaultInterval) }

func (p Ping) Commands(w Window) (server, client []string) {
	return nil, []string{"weir", "engine", "ping", w.call().Addr().String(),
		"--duration", w.Duration.String(), "--warmup", w.Warmup.String(),
		"--size", strconv.Itoa(or(p.Size, defaultEcho)), "--interval", or(p.Interval, defaultInterval).String()}
}

// Parse reads rtt (s, median, with histogram), those of echo, requests, loss and window. A window in which
// no request was answered has no response time.
func (p Ping) Parse(out Output) (Measured, error) {
	var r event.Ping
	n := parseNative(out, "ping", &r)
	h := n.echoes(r.Requests, r.Transactions, r.Lost, r.Hist)
	if n.err != nil {
		return Measured{}, n.err
	}
	var values []record.Value
	if r.Transactions > 0 {
		values = append([]record.Value{{Name: record.RTT, Unit: "s", Value: quantile(h, 50), Hist: r.Hist}}, echo(h)...)
	}
	values = append(append(values, lost(float64(r.Lost), float64(r.Requests))...), record.Value{Name: record.Window, Unit: "s", Value: r.Window})
	return n.measured("icmp", r.Head, values, record.Socket.Is(r.Socket))
}
