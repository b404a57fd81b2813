package probe

import (
	"cmp"

	"github.com/weir-bench/weir/internal/engine/event"
)

// DNSRR measures how long a name server of weir takes to answer.
type DNSRR struct {
	TCP      bool `yaml:"tcp"`      // over TCP, instead of UDP
	Lookup   bool `yaml:"lookup"`   // A and AAAA at once over a new socket, as resolvers ask, instead of A over one that stays
	InFlight int  `yaml:"inflight"` // sockets, each with one query or lookup in flight, to 100; default 1
	Rate     int  `yaml:"rate"`     // queries or lookups/s on a schedule; default none: each follows the answer before
}

func (p DNSRR) Info() Info {
	i := Info{Title: "DNS query", Short: "DNS response time", Unit: "s", DeliveryUnit: "1/s", Datagrams: !p.TCP, About: "DNS response time over UDP (native)",
		Method: "A query for one name that the server knows itself, over a socket that stays. " + lostMethod}
	switch {
	case p.Lookup:
		i.DeliveryUnit = "" // the server counts queries
		i.Title, i.Short, i.About = "DNS lookup", "DNS lookup time", "time until a resolver has both addresses of a name, asked for at once over UDP (native)"
		i.Method = "A and AAAA queries leave at once from a new socket, as those of glibc, and the lookup ends with the second answer. A lookup of which an answer does not come within 500 ms is lost: glibc would then wait for 5 s. It counts in loss, the share of all lookups, and in no response time."
	case p.TCP:
		i.Title, i.Short, i.About = "DNS query over TCP", "DNS response time over TCP", "DNS response time over TCP (native)"
		i.Method = "A query for one name that the server knows itself, over a connection that stays."
	}
	if p.Lookup && p.TCP {
		i.Title, i.Short, i.About = "DNS lookup over TCP", "DNS lookup time over TCP", "time until a resolver has both addresses of a name, asked for at once over TCP (native)"
		i.Method = "A new connection, over which A and AAAA queries leave at once. The lookup ends with the second answer."
	}
	return i
}

func (p DNSRR) workload() string {
	if p.Lookup {
		return "dns-lookup"
	}
	return "dns-rr"
}

func (p DNSRR) Check() error {
	return cmp.Or(checkWebRate(p.workload(), p.Rate), event.CheckMessages(p.workload(), defaultMessage, or(p.InFlight, 1)))
}

func (p DNSRR) Commands(w Window) (server, client []string) {
	flags := webFlags(w, p.InFlight, p.Rate)
	if p.TCP {
		flags = append(flags, "--tcp")
	}
	return engineRun(w, p.workload(), defaultMessage, flags...)
}

// Parse reads the values of web and, over UDP, those of lost.
func (p DNSRR) Parse(out Output) (Measured, error) {
	var r event.Web
	n := parseNative(out, p.workload(), &r)
	if n.err == nil && p.TCP != (r.Congestion != "") {
		n.fail("impossible: TCP is %t, with congestion control %q", p.TCP, r.Congestion)
	}
	protocol := map[bool]string{true: "tcp", false: "udp"}[p.TCP]
	return n.web(protocol, r, p.Lookup, false, or(p.InFlight, 1))
}
