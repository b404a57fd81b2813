package plan

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Labels of ends that more than one network has.
const (
	Pod  = "pod"
	Host = "host" // by its address on the underlay
)

// An End is where traffic starts or stops.
type End struct {
	Label string     `json:"label"` // what it is, such as Pod: letters, for a number tells one of several
	Node  string     `json:"node"`  // host or pod
	Host  string     `json:"host"`  // that Node lives on, or is
	Addr  netip.Addr `json:"addr"`
	Dev   string     `json:"dev"` // that holds Addr
}

// String is the label and the node, as in "pod h1p1".
func (e End) String() string { return e.Label + " " + e.Node }

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
// that they are on different hosts where there are two. A label with a number
// is one end: pod3 is the third of those called pod. Without a pair they are
// ends of the kind that the network lists first. On a lone host they are two
// ends, unless the network has only one, which then talks to itself.
func (p Plan) Between(pair string) (client, server End, err error) {
	from, to, err := p.kinds(pair)
	if err != nil {
		return client, server, err
	}
	as, err := p.called(from)
	if err != nil {
		return client, server, err
	}
	bs, err := p.called(to)
	if err != nil {
		return client, server, err
	}
	client, server = as[0], bs[len(bs)-1]
	switch {
	case client == server && len(as) < len(p.Labelled(client.Label)):
		return client, server, fmt.Errorf("%w: %s and %s are one, %s", ErrNoEnds, from, to, client.Node)
	case client == server && len(p.Ends) > 1:
		return client, server, fmt.Errorf("%w: %s is the only one called %s", ErrNoEnds, client.Node, from)
	}
	return client, server, sourced(client, server)
}

// BetweenHosts is Between for two hosts: each end is the first one on its host with
// its label.
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
	return client, server, sourced(client, server)
}

// kinds returns what a pair FROM-TO calls its ends.
func (p Plan) kinds(pair string) (from, to string, err error) {
	if len(p.Ends) == 0 {
		return "", "", fmt.Errorf("%w: it has none at all", ErrNoEnds)
	}
	from, to = p.Ends[0].Label, p.Ends[0].Label
	if pair != "" {
		if from, to, err = SplitEnds(pair); err != nil {
			return "", "", err
		}
	}
	return from, to, nil
}

// first returns the first end on a host that has a label.
func (p Plan) first(label, host string) (End, error) {
	ends, err := p.called(label)
	if err != nil {
		return End{}, err
	}
	for _, e := range ends {
		if e.Host == host {
			return e, nil
		}
	}
	return End{}, fmt.Errorf("%w: none on %s is called %s", ErrNoEnds, host, label)
}

// sourced returns an error when it is not known from which address the ends send.
func sourced(client, server End) error {
	if client.Label != server.Label && client.Node == client.Host && server.Node == server.Host {
		return fmt.Errorf("%w: %s and %s are addresses of hosts, and which one a host sends from follows from the other end", ErrNoEnds, client.Label, server.Label)
	}
	return nil
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

// called returns the ends with a label, or the one that its number tells, counted
// from 1.
func (p Plan) called(label string) ([]End, error) {
	if ends := p.Labelled(label); len(ends) > 0 {
		return ends, nil
	}
	kind := strings.TrimRight(label, "0123456789")
	ends := p.Labelled(kind)
	if len(ends) == 0 {
		return nil, fmt.Errorf("%w: none is called %s; there are %s", ErrNoEnds, label, strings.Join(p.labels(), ", "))
	}
	n, err := strconv.Atoi(label[len(kind):])
	if err != nil || n < 1 || n > len(ends) {
		return nil, fmt.Errorf("%w: none is called %s; there are %s1 to %s%d", ErrNoEnds, label, kind, kind, len(ends))
	}
	return ends[n-1 : n], nil
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

// Crossed returns the hosts that packets pass between two ends, in the order of the
// line; nil when the hosts are in no line.
func (p Plan) Crossed(a, b End) []string {
	i, j := slices.Index(p.Line, a.Host), slices.Index(p.Line, b.Host)
	if i < 0 || j < 0 {
		return nil
	}
	return p.Line[min(i, j) : max(i, j)+1]
}

// On returns p with the path from one end to another as its Path.
func (p Plan) On(client, server End) Plan {
	if other, ok := p.Paths[client.Label+"-"+server.Label]; ok {
		p.Path = other
	}
	return p
}
