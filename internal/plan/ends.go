package plan

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Labels of ends that more than one network has.
const (
	Pod  = "pod"
	Host = "host" // by its address on the underlay
)

// An End is where traffic starts or stops.
type End struct {
	Label string     `json:"label"` // what it is, such as Pod: letters
	Node  string     `json:"node"`  // host or pod
	Host  string     `json:"host"`  // that Node lives on, or is
	Addr  netip.Addr `json:"addr"`
	Dev   string     `json:"dev"` // that holds Addr
}

// ErrNoEnds says that a network has no two ends of the labels that are asked for.
var ErrNoEnds = errors.New("the network has no such ends")

// SplitEnds reads a pair of labels, FROM-TO.
func SplitEnds(pair string) (from, to string, err error) {
	from, to, ok := strings.Cut(pair, "-")
	if !ok || from == "" || to == "" || strings.Contains(to, "-") {
		return "", "", fmt.Errorf("%q is no pair of ends: write it as FROM-TO, such as pod-host", pair)
	}
	return from, to, nil
}

// Between returns the ends that exchange traffic for pair, two labels as FROM-TO:
// the client is the first end called FROM, the server the last one called TO, so
// that they are on different hosts where there are two. Without a pair they are
// ends of the kind that the network lists first. On a lone host they are two
// ends, unless the network has only one, which then talks to itself.
func (p Plan) Between(pair string) (client, server End, err error) {
	if len(p.Ends) == 0 {
		return client, server, fmt.Errorf("%w: it has none at all", ErrNoEnds)
	}
	from, to := p.Ends[0].Label, p.Ends[0].Label
	if pair != "" {
		if from, to, err = SplitEnds(pair); err != nil {
			return client, server, err
		}
	}
	for _, label := range []string{from, to} {
		if known := p.labels(); !slices.Contains(known, label) {
			return client, server, fmt.Errorf("%w: none is called %s; there are %s", ErrNoEnds, label, strings.Join(known, ", "))
		}
	}
	as, bs := p.Labelled(from), p.Labelled(to)
	client, server = as[0], bs[len(bs)-1]
	if client == server && len(p.Ends) > 1 {
		return client, server, fmt.Errorf("%w: %s is the only one called %s", ErrNoEnds, client.Node, from)
	}
	if from != to && client.Node == client.Host && server.Node == server.Host {
		return client, server, fmt.Errorf("%w: %s and %s are addresses of hosts, and which one a host sends from follows from the other end", ErrNoEnds, from, to)
	}
	return client, server, nil
}

// Clients returns the ends of n clients of one server: client, then the first others
// with its label, each on a host of its own that is not the server's.
func (p Plan) Clients(n int, client, server End) ([]End, error) {
	clients, taken := []End{client}, []string{client.Host, server.Host}
	for _, e := range p.Labelled(client.Label) {
		if len(clients) < n && !slices.Contains(taken, e.Host) {
			clients, taken = append(clients, e), append(taken, e.Host)
		}
	}
	if len(clients) < n {
		return nil, fmt.Errorf("%w: %d clients called %s and a server need %d hosts, one each, and there are ends for %d clients",
			ErrNoEnds, n, client.Label, n+1, len(clients))
	}
	return clients, nil
}

// Labelled returns the ends with a label, in their order.
func (p Plan) Labelled(label string) []End {
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

// On returns p with the path from one end to another as its Path.
func (p Plan) On(client, server End) Plan {
	if other, ok := p.Paths[client.Label+"-"+server.Label]; ok {
		p.Path = other
	}
	return p
}
