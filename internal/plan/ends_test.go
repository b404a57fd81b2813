package plan

import (
	"errors"
	"slices"
	"testing"
)

// The client is the first end of its label, the server the last of its own.
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
		{"what the network is for", two, "", "h1p1", "h2p1", ""},
		{"across", two, "pod-host", "h1p1", "h2", ""},
		{"the other way", two, "host-pod", "h1", "h2p1", ""},
		{"hosts", two, "host-host", "h1", "h2", ""},
		{"one host", one, "pod-pod", "h1p1", "h1p2", ""},
		{"one host, to it", one, "pod-host", "h1p1", "h1", ""},
		{"a lone end", one[2:], "host-host", "h1", "h1", ""},
		{"a lone host", one, "host-host", "", "", "the network has no such ends: h1 is the only one called host"},
		{"a label that is none", two, "pod-gpu", "", "", "the network has no such ends: none is called gpu; there are pod, vx, host"},
		{"addresses of hosts", two, "vx-host", "", "", "the network has no such ends: vx and host are addresses of hosts, and which one a host sends from follows from the other end"},
		{"one of several", two, "pod2-pod1", "h2p1", "h1p1", ""},
		{"one and a kind", two, "pod2-host", "h2p1", "h2", ""},
		{"beyond the last", two, "pod1-pod3", "", "", "the network has no such ends: none is called pod3; there are pod1 to pod2"},
		{"before the first", two, "pod0-pod1", "", "", "the network has no such ends: none is called pod0; there are pod1 to pod2"},
		{"a label that is none, with a number", two, "pod1-gpu2", "", "", "the network has no such ends: none is called gpu2; there are pod, vx, host"},
		{"one and the same", two, "pod1-pod1", "", "", "the network has no such ends: pod1 and pod1 are one, h1p1"},
		{"addresses of hosts by number", two, "vx1-host2", "", "", "the network has no such ends: vx and host are addresses of hosts, and which one a host sends from follows from the other end"},
		{"nothing", nil, "", "", "", "the network has no such ends: it has none at all"},
		{"no pair", two, "pod", "", "", `"pod" is no pair of ends: write it as FROM-TO, such as pod-host`},
		{"half a pair", two, "pod-", "", "", `"pod-" is no pair of ends: write it as FROM-TO, such as pod-host`},
		{"a pair and a half", two, "pod-host-pod", "", "", `"pod-host-pod" is no pair of ends: write it as FROM-TO, such as pod-host`},
	} {
		client, server, err := Plan{Ends: x.ends}.Between(x.pair)
		switch {
		case x.err != "" && (err == nil || err.Error() != x.err):
			t.Errorf("%s: error %v, want %s", x.name, err, x.err)
		case x.err == "" && (err != nil || client.Node != x.client || server.Node != x.server):
			t.Errorf("%s: %s and %s, %v", x.name, client.Node, server.Node, err)
		}
		if _, _, bad := SplitEnds(x.pair); err != nil && x.pair != "" && errors.Is(err, ErrNoEnds) == (bad != nil) {
			t.Errorf("%s: %v is of the wrong kind", x.name, err)
		}
	}
}

// Between two hosts both ends are the first of their label on their host.
func TestBetweenHosts(t *testing.T) {
	end := func(label, host, node string) End { return End{Label: label, Host: host, Node: node} }
	p := Plan{Ends: []End{end(Pod, "h1", "h1p1"), end(Pod, "h1", "h1p2"), end(Pod, "h2", "h2p1"), end(Pod, "h2", "h2p2"), end("vx", "h2", "h2"),
		end(Host, "h1", "h1"), end(Host, "h2", "h2"), end(Host, "h3", "h3")}}
	for _, x := range []struct{ pair, from, to, client, server, err string }{
		{"", "h1", "h2", "pod h1p1", "pod h2p1", ""},
		{"", "h2", "h1", "pod h2p1", "pod h1p1", ""},
		{"pod-host", "h1", "h3", "pod h1p1", "host h3", ""},
		{"host-host", "h2", "h3", "host h2", "host h3", ""},
		{"", "h1", "h3", "", "", "the network has no such ends: none on h3 is called pod"},
		{"pod-gpu", "h1", "h2", "", "", "the network has no such ends: none is called gpu; there are pod, vx, host"},
		{"host-vx", "h1", "h2", "", "", "the network has no such ends: host and vx are addresses of hosts, and which one a host sends from follows from the other end"},
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

// A pair has its own path where there is one.
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

// Clients are on hosts of their own, the measured one first, whichever end it is.
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
		{3, first, last, nil, "the network has no such ends: 3 clients called pod and a server need 4 hosts, one each, and there are ends for 2 clients"},
		{2, host, first, nil, "the network has no such ends: 2 clients called host and a server need 3 hosts, one each, and there are ends for 1 clients"},
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

// In a line packets pass every host in between, in whichever direction.
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
