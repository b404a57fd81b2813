package probe

import (
	"strconv"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/facts"
)

// NATS measures requests/s through nats-server, by weir itself, which speaks the core protocol: a request goes from one
// connection over the server to another one, and its answer back. Both ends are in the client's pod.
type NATS struct {
	Size     int `yaml:"size"`     // bytes of a request and of its answer, from 8 to 1 MiB; default 64
	InFlight int `yaml:"inflight"` // requests in flight, each over two connections of its own, to 100; default 16
}

const natsInFlight = 16

func (p NATS) Info() Info {
	return Info{Asks: Asks{2, or(p.InFlight, natsInFlight), or(p.Size, defaultMessage)}, Title: "NATS request/reply", Short: "NATS", Unit: "1/s", StartsLate: true,
		About:  "requests per second through nats-server, by weir itself",
		Method: "A request goes over nats-server to a responder, and the answer back over it: four times across the path, because requester and responder are in the client's pod. One thread of weir is both, over two connections, for each request in flight, and the server takes as many threads as it has CPUs. What a service would do with the request is not in it. A message that is not the one that was sent fails the trial.",
		Tools:  []facts.ToolInfo{{Program: "nats-server", Package: "nats-server", VersionArgs: []string{"--version"}, Version: `nats-server: v(\S+)`}}}
}

func (p NATS) Check() error {
	return event.CheckMessages("nats", or(p.Size, defaultMessage), or(p.InFlight, natsInFlight))
}

// Commands implements Probe. The server keeps nothing on disk unless it is told to.
func (p NATS) Commands(w Window) (server, client []string) {
	server = []string{"weir", "host", "private", "--", "nats-server", "-a", w.Server.Addr().String(), "-p", port(w)}
	return server, []string{"weir", "engine", "nats", w.call().String(), "--duration", w.Duration.String(), "--warmup", w.Warmup.String(),
		"--size", strconv.Itoa(or(p.Size, defaultMessage)), "--inflight", strconv.Itoa(or(p.InFlight, natsInFlight))}
}

// Parse reads transactions (1/s), rtt (s, median, with its histogram), rtt.p99 (s), rtt.mean (s) and window.
func (p NATS) Parse(out Output) (Measured, error) {
	var r event.RR
	n, size, most := parseNative(out, "nats", &r), or(p.Size, defaultMessage), or(p.InFlight, natsInFlight)
	h := n.echoes(r.Requests, r.Transactions, r.Lost, r.Hist)
	if n.err == nil {
		n.require(r.Window > 0 && r.Transactions > 0 && h.ValueAtQuantile(50) > 0, "%d answers in %g s", r.Transactions, r.Window)
		n.require(r.Size == size && r.Inflight == most, "%d requests of %d bytes in flight, asked for %d of %d", r.Inflight, r.Size, most, size)
	}
	if n.err != nil {
		return Measured{}, n.err
	}
	count, mean := float64(r.Transactions), h.Mean()/1e9
	m := closedLoop(count, count/r.Window, quantile(h, 50), quantile(h, 99), mean)
	m.Values[1].Hist, m.Moved = r.Hist, 2*count*float64(size)
	return checked("nats", m, inFlight(count/r.Window, mean, most))
}
