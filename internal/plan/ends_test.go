package plan

import (
	"errors"
	"slices"
	"testing"
)

// The client is the first end with its label, the server the last with its own.
func TestBetween(t *testing.T) {
	end := func(label, host, node string) End { return End{Label: label, Host: host, Node: node} }
	one := []End{end(Pod, "h1", "h1p1"), end(Pod, "h1", "h1p2"), end(Host, "h1", "h1")}
	two := []End{end(Pod, "h1", "h1p1"), end(Pod, "h2", "h2p1"), end("vx", "h1", "h1"), end("vx", "h2", "h2"), end(Host, "h1", "h1"), end(Host, "h2", "h2")}
	for _, x := range []struct {
		name           string
		ends           []End
		pair           string
		client, server string
		err            string
	}{
		{"default", two, "", "h1p1", "h2p1", ""},
		{"across", two, "pod-host", "h1p1", "h2", ""},
		{"reversed", two, "host-pod", "h1", "h2p1", ""},
		{"hosts", two, "host-host", "h1", "h2", ""},
		{"one host", one, "pod-pod", "h1p1", "h1p2", ""},
		{"a pod and its host", one, "pod-host", "h1p1", "h1", ""},
		{"a lone end", one[2:], "host-host", "h1", "h1", ""},
		{"a lone host", one, "host-host", "", "", "the network has no such ends: only h1 is labeled host"},
		{"unknown label", two, "pod-gpu", "", "", "the network has no such ends: no end is labeled gpu; the labels are pod, vx, host"},
		{"two host addresses", two, "vx-host", "", "", "the network has no such ends: vx and host are both host addresses, and the route to the other end decides which one a host sends from"},
		{"numbered ends", two, "pod2-pod1", "h2p1", "h1p1", ""},
		{"a numbered end and a label", two, "pod2-host", "h2p1", "h2", ""},
		{"beyond the last", two, "pod1-pod3", "", "", "the network has no such ends: no end is called pod3; there are pod1 to pod2"},
		{"before the first", two, "pod0-pod1", "", "", "the network has no such ends: no end is called pod0; there are pod1 to pod2"},
		{"unknown label with a number", two, "pod1-gpu2", "", "", "the network has no such ends: no end is labeled gpu2; the labels are pod, vx, host"},
		{"the same end twice", two, "pod1-pod1", "", "", "the network has no such ends: pod1 and pod1 are the same end, h1p1"},
		{"two host addresses by number", two, "vx1-host2", "", "", "the network has no such ends: vx and host are both host addresses, and the route to the other end decides which one a host sends from"},
		{"no ends", nil, "", "", "", "the network has no such ends: it has no ends at all"},
		{"one label only", two, "pod", "", "", `invalid pair of ends "pod": write FROM-TO, such as pod-host`},
		{"half a pair", two, "pod-", "", "", `invalid pair of ends "pod-": write FROM-TO, such as pod-host`},
		{"a pair and a half", two, "pod-host-pod", "", "", `invalid pair of ends "pod-host-pod": write FROM-TO, such as pod-host`},
	} {
		client, server, err := Plan{Ends: x.ends}.Between(x.pair)
		switch {
		case x.err != "" && (err == nil || err.Error() != x.err):
			t.Errorf("%s: error %v, want %s", x.name, err, x.err)
		case x.err == "" && (err != nil || client.Node != x.client || server.Node != x.server):
			t.Errorf("%s: %s and %s, %v", x.name, client.Node, server.Node, err)
		}
		if _, _, bad := SplitEnds(x.pair); err != nil && x.pair != "" && errors.Is(err, ErrNoEnds) == (bad != nil) {
			t.Errorf("%s: %v wraps the wrong error", x.name, err)
		}
	}
}

// Between two hosts, each end is the first one on its host with its label.
func TestBetweenHosts(t *testing.T) {
	end := func(label, host, node string) End { return End{Label: label, Host: host, Node: node} }
	p := Plan{Ends: []End{end(Pod, "h1", "h1p1"), end(Pod, "h1", "h1p2"), end(Pod, "h2", "h2p1"), end(Pod, "h2", "h2p2"), end("vx", "h2", "h2"),
		end(Host, "h1", "h1"), end(Host, "h2", "h2"), end(Host, "h3", "h3")}}
	for _, x := range []struct{ pair, from, to, client, server, err string }{
		{"", "h1", "h2", "pod h1p1", "pod h2p1", ""},
		{"", "h2", "h1", "pod h2p1", "pod h1p1", ""},
		{"pod-host", "h1", "h3", "pod h1p1", "host h3", ""},
		{"host-host", "h2", "h3", "host h2", "host h3", ""},
		{"", "h1", "h3", "", "", "the network has no such ends: no end on h3 is labeled pod"},
		{"pod-gpu", "h1", "h2", "", "", "the network has no such ends: no end is labeled gpu; the labels are pod, vx, host"},
		{"host-vx", "h1", "h2", "", "", "the network has no such ends: host and vx are both host addresses, and the route to the other end decides which one a host sends from"},
	} {
		client, server, err := p.BetweenHosts(x.pair, x.from, x.to)
		switch {
		case x.err != "" && (err == nil || err.Error() != x.err || !errors.Is(err, ErrNoEnds)):
			t.Errorf("%s from %s to %s: error %v, want %s", x.pair, x.from, x.to, err, x.err)
		case x.err == "" && (err != nil || client.String() != x.client || server.String() != x.server):
			t.Errorf("%s from %s to %s: %v and %v, %v", x.pair, x.from, x.to, client, server, err)
		}
	}
}

// On prefers the path of the pair, in this direction, to the common one.
func TestOn(t *testing.T) {
	p := Plan{Path: Path{MTU: 1450}, Paths: map[string]Path{"pod-host": {MTU: 1500}}}
	pod, host := End{Label: Pod}, End{Label: Host}
	if got := p.On(pod, host).Path.MTU; got != 1500 {
		t.Errorf("MTU %d from pod to host", got)
	}
	if got := p.On(host, pod).Path.MTU; got != 1450 {
		t.Errorf("MTU %d from host to pod", got)
	}
}

// Each client has a host of its own; the measured client comes first, whichever end it is.
func TestClients(t *testing.T) {
	p := Plan{Ends: []End{{Label: Pod, Host: "h1", Node: "h1p1"}, {Label: Pod, Host: "h1", Node: "h1p2"}, {Label: Pod, Host: "h2", Node: "h2p1"},
		{Label: "vx", Host: "h3", Node: "h3"}, {Label: Pod, Host: "h3", Node: "h3p1"}, {Label: Host, Host: "h3", Node: "h3"}}}
	first, last, host := p.Ends[0], p.Ends[4], p.Ends[5]
	for _, x := range []struct {
		n              int
		client, server End
		want           []string
		err            string
	}{
		{1, first, last, []string{"h1p1"}, ""},
		{2, first, last, []string{"h1p1", "h2p1"}, ""},
		{2, last, first, []string{"h3p1", "h2p1"}, ""},
		{2, first, host, []string{"h1p1", "h2p1"}, ""},
		{1, first, first, []string{"h1p1"}, ""}, // a lone end
		{3, first, last, nil, "the network has no such ends: 3 clients labeled pod and a server need 4 hosts, one each, but there are ends for only 2 clients"},
		{2, host, first, nil, "the network has no such ends: 2 clients labeled host and a server need 3 hosts, one each, but there are ends for only 1 clients"},
	} {
		got, err := p.Clients(x.n, x.client, x.server)
		var nodes []string
		for _, e := range got {
			nodes = append(nodes, e.Node)
		}
		switch {
		case x.err != "" && (!errors.Is(err, ErrNoEnds) || err.Error() != x.err):
			t.Errorf("%d of %s: %v, error %v, want %s", x.n, x.client.Node, nodes, err, x.err)
		case x.err == "" && (err != nil || !slices.Equal(nodes, x.want)):
			t.Errorf("%d of %s: %v, %v, want %v", x.n, x.client.Node, nodes, err, x.want)
		}
	}
}

// In a line, packets pass every host in between, in either direction.
func TestCrossed(t *testing.T) {
	p := Plan{Line: []string{"h1", "h2", "h3", "h4"}}
	at := func(host string) End { return End{Host: host} }
	for _, x := range []struct {
		a, b string
		want []string
	}{
		{"h1", "h3", []string{"h1", "h2", "h3"}},
		{"h4", "h3", []string{"h3", "h4"}},
		{"h2", "h2", []string{"h2"}},
		{"h1", "h9", nil},
	} {
		if got := p.Crossed(at(x.a), at(x.b)); !slices.Equal(got, x.want) {
			t.Errorf("%s to %s: %v, want %v", x.a, x.b, got, x.want)
		}
	}
	if got := (Plan{}).Crossed(at("h1"), at("h2")); got != nil {
		t.Errorf("without a line: %v", got)
	}
}
