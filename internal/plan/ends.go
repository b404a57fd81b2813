package plan

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Labels that ends have in more than one network.
const (
	Pod  = "pod"
	Host = "host" // a host, by its address on the underlay
)

// An End is an endpoint of traffic.
type End struct {
	Label string     `json:"label"` // its kind, such as Pod: letters only, because a trailing number selects one of several
	Node  string     `json:"node"`  // host or pod
	Host  string     `json:"host"`  // the host that runs Node, or Node itself
	Addr  netip.Addr `json:"addr"`
	Dev   string     `json:"dev"` // the device that has Addr
	// Call is the address that clients call when it is not Addr, such as a Service's.
	Call netip.Addr `json:"call,omitzero"`
	// Ports maps the ports that a server here listens on to those that clients call; others are equal.
	Ports map[uint16]uint16 `json:"ports,omitempty"`
}

// same reports whether two ends of one plan are the same.
func (e End) same(other End) bool { return e.Label == other.Label && e.Node == other.Node }

func (e End) equal(other End) bool {
	return maps.Equal(e.Ports, other.Ports) && e.same(other) && e.Host == other.Host && e.Addr == other.Addr && e.Dev == other.Dev && e.Call == other.Call
}

// Listen returns the address where a server at e listens on a port.
func (e End) Listen(port uint16) netip.AddrPort { return netip.AddrPortFrom(e.Addr, port) }

// Dial returns the address that clients of a server at e call when it listens on a port.
func (e End) Dial(port uint16) netip.AddrPort {
	at := e.Listen(port)
	if e.Call.IsValid() {
		at = netip.AddrPortFrom(e.Call, port)
	}
	if called, ok := e.Ports[port]; ok {
		at = netip.AddrPortFrom(at.Addr(), called)
	}
	return at
}

// String returns the label and the node, as in "pod h1p1".
func (e End) String() string { return e.Label + " " + e.Node }

// ErrNoEnds means that a network has no two ends with the requested labels.
var ErrNoEnds = errors.New("the network has no such ends")

// SplitEnds parses a pair of labels, FROM-TO.
func SplitEnds(pair string) (from, to string, err error) {
	from, to, ok := strings.Cut(pair, "-")
	if !ok || from == "" || to == "" || strings.Contains(to, "-") {
		return "", "", fmt.Errorf("invalid pair of ends %q: write FROM-TO, such as pod-host", pair)
	}
	return from, to, nil
}

// Between returns the ends that exchange traffic for pair, two labels as FROM-TO. The client is the
// first end labeled FROM and the server the last one labeled TO, on different hosts if there are
// two. A label with a number selects one end: pod3 is the third end labeled pod. Without a pair,
// both ends have the network's first label. The only end of a network talks to itself.
func (p Plan) Between(pair string) (client, server End, err error) {
	from, to, err := p.kinds(pair)
	if err != nil {
		return client, server, err
	}
	as, err := p.find(from)
	if err != nil {
		return client, server, err
	}
	bs, err := p.find(to)
	if err != nil {
		return client, server, err
	}
	client, server = as[0], bs[len(bs)-1]
	switch {
	case client.same(server) && len(as) < len(p.Labeled(client.Label)):
		return client, server, fmt.Errorf("%w: %s and %s are the same end, %s", ErrNoEnds, from, to, client.Node)
	case client.same(server) && len(p.Ends) > 1:
		return client, server, fmt.Errorf("%w: only %s is labeled %s", ErrNoEnds, client.Node, from)
	}
	return client, server, checkSource(client, server)
}

// BetweenHosts returns the ends of pair on two given hosts: on each the first end with the label.
func (p Plan) BetweenHosts(pair, clientHost, serverHost string) (client, server End, err error) {
	from, to, err := p.kinds(pair)
	if err != nil {
		return client, server, err
	}
	if client, err = p.first(from, clientHost); err != nil {
		return client, server, err
	}
	if server, err = p.first(to, serverHost); err != nil {
		return client, server, err
	}
	return client, server, checkSource(client, server)
}

// kinds returns the two labels of pair, or the network's first label twice.
func (p Plan) kinds(pair string) (from, to string, err error) {
	if len(p.Ends) == 0 {
		return "", "", fmt.Errorf("%w: it has no ends at all", ErrNoEnds)
	}
	from, to = p.Ends[0].Label, p.Ends[0].Label
	if pair != "" {
		if from, to, err = SplitEnds(pair); err != nil {
			return "", "", err
		}
	}
	return from, to, nil
}

// first returns the first end on host with the given label.
func (p Plan) first(label, host string) (End, error) {
	ends, err := p.find(label)
	if err != nil {
		return End{}, err
	}
	if i := slices.IndexFunc(ends, func(e End) bool { return e.Host == host }); i >= 0 {
		return ends[i], nil
	}
	return End{}, fmt.Errorf("%w: no end on %s is labeled %s", ErrNoEnds, host, label)
}

// checkSource returns an error if the plan does not determine the ends' source addresses.
func checkSource(client, server End) error {
	if client.Label != server.Label && client.Node == client.Host && server.Node == server.Host {
		return fmt.Errorf("%w: %s and %s are both host addresses, and the route to the other end decides which one a host sends from", ErrNoEnds, client.Label, server.Label)
	}
	return nil
}

// Clients returns the ends of n clients of one server: client, then the first other ends with its
// label, each on a separate host that is not the server's.
func (p Plan) Clients(n int, client, server End) ([]End, error) {
	clients, taken := []End{client}, []string{client.Host, server.Host}
	for _, e := range p.Labeled(client.Label) {
		if len(clients) < n && !slices.Contains(taken, e.Host) {
			clients, taken = append(clients, e), append(taken, e.Host)
		}
	}
	if len(clients) < n {
		return nil, fmt.Errorf("%w: %d clients labeled %s and a server need %d hosts, one each, but there are ends for only %d clients",
			ErrNoEnds, n, client.Label, n+1, len(clients))
	}
	return clients, nil
}

// find returns the ends with a label, or the one that a trailing number selects, counting from 1.
func (p Plan) find(label string) ([]End, error) {
	if ends := p.Labeled(label); len(ends) > 0 {
		return ends, nil
	}
	kind := strings.TrimRight(label, "0123456789")
	ends := p.Labeled(kind)
	if len(ends) == 0 {
		return nil, fmt.Errorf("%w: no end is labeled %s; the labels are %s", ErrNoEnds, label, strings.Join(p.labels(), ", "))
	}
	n, err := strconv.Atoi(label[len(kind):])
	if err != nil || n < 1 || n > len(ends) {
		return nil, fmt.Errorf("%w: no end is called %s; there are %s1 to %s%d", ErrNoEnds, label, kind, kind, len(ends))
	}
	return ends[n-1 : n], nil
}

// Labeled returns the ends with the given label, in the order of the plan.
func (p Plan) Labeled(label string) []End {
	return slices.DeleteFunc(slices.Clone(p.Ends), func(e End) bool { return e.Label != label })
}

func (p Plan) labels() []string {
	var all []string
	for _, e := range p.Ends {
		if !slices.Contains(all, e.Label) {
			all = append(all, e.Label)
		}
	}
	return all
}

// Crossed returns the hosts from one end to the other, or nil if the hosts are not in a line.
func (p Plan) Crossed(a, b End) []string {
	i, j := slices.Index(p.Line, a.Host), slices.Index(p.Line, b.Host)
	if i < 0 || j < 0 {
		return nil
	}
	return p.Line[min(i, j) : max(i, j)+1]
}

// On returns p with Path set to the path from one end to the other.
func (p Plan) On(client, server End) Plan {
	if other, ok := p.Paths[client.Label+"-"+server.Label]; ok {
		p.Path = other
	}
	return p
}
