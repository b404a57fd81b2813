package ssh

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/topo"
)

// at describes a machine: "NAME called=ADDR given=ADDR DEV:MTU=PREFIX+PREFIX …".
func at(t *testing.T, text string) *machine {
	t.Helper()
	f := strings.Fields(text)
	m := &machine{name: f[0], dest: f[0], identity: f[0]}
	for _, word := range f[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "called":
			m.called = netip.MustParseAddr(value)
		case "given":
			m.given = netip.MustParseAddr(value)
		default:
			dev, mtu, _ := strings.Cut(key, ":")
			l := remote.Link{Name: dev, MTU: 1500, Up: true}
			if mtu == "1450" {
				l.MTU = 1450
			}
			for _, p := range strings.Split(value, "+") {
				l.Addrs = append(l.Addrs, netip.MustParsePrefix(p))
			}
			m.links = append(m.links, l)
		}
	}
	return m
}

const (
	lo = " lo=127.0.0.1/8+::1/128"
	a1 = " eth0=10.0.0.1/24+fd00::1/64+fe80::1/64" + lo
	b1 = " eth0=10.0.0.2/24+fd00::2/64+fe80::2/64" + lo
)

func TestHosts(t *testing.T) {
	for _, c := range []struct{ name, a, b, want string }{
		{"what ssh reaches", "a called=10.0.0.1" + a1, "b called=10.0.0.2" + b1, "eth0 10.0.0.1/24, eth0 10.0.0.2/24"},
		{"IPv6", "a called=fd00::1" + a1, "b called=fd00::2" + b1, "eth0 fd00::1/64, eth0 fd00::2/64"},
		{"two families", "a called=10.0.0.1" + a1, "b called=fd00::2" + b1, "eth0 10.0.0.1/24, eth0 10.0.0.2/24"},
		{"one through a forwarded port", "a called=127.0.0.1" + a1, "b called=10.0.0.2" + b1, "eth0 10.0.0.1/24, eth0 10.0.0.2/24"},
		{"a link-local address", "a called=10.0.0.1" + a1, "b called=fe80::2" + b1, "eth0 10.0.0.1/24, eth0 10.0.0.2/24"},
		{"a translated address", "a called=203.0.113.1" + a1, "b called=10.0.0.2" + b1, "eth0 10.0.0.1/24, eth0 10.0.0.2/24"},
		{"a given one comes first", "a called=10.0.0.1" + a1, "b called=10.0.0.2 given=fd00::2" + b1, "eth0 fd00::1/64, eth0 fd00::2/64"},
		{"given ones", "a given=10.9.0.1 wg0=10.9.0.1/32" + a1, "b given=10.9.0.2 wg0=10.9.0.2/32" + b1, "wg0 10.9.0.1/32, wg0 10.9.0.2/32"},
		{"nobody knows", "a called=127.0.0.1" + a1, "b" + b1, "a: no address to measure: ssh reaches it by an address that other machines cannot call; choose one with --ssh a=ADDRESS. It has eth0 10.0.0.1/24, eth0 fd00::1/64"},
		{"an address of no device", "a given=10.0.0.9" + a1, "b called=10.0.0.2" + b1, "a: no device has the address 10.0.0.9, which servers must listen on; a translated address cannot be measured. It has eth0 10.0.0.1/24"},
		{"given ones of two families", "a given=10.0.0.1" + a1, "b given=fd00::2" + b1, "b is measured at fd00::2, and another machine at 10.0.0.1: give all machines IPv4 addresses"},
		{"behind one translator each", "a called=10.0.2.15 eth0=10.0.2.15/24", "b called=10.0.2.15 eth0=10.0.2.15/24", "a and b both have the address 10.0.2.15, so it does not lead from one to the other; choose others with a=ADDRESS,b=ADDRESS"},
		{"no route", "a called=10.0.0.1" + a1, "b eth0=192.168.0.1/24", "b: no address to measure: no route to 10.0.0.1; choose one with --ssh b=ADDRESS. It has eth0 192.168.0.1/24"},
		{"only a loopback device", "a called=10.0.0.1" + a1, "b" + lo, "It has no device with an address that other machines can call"},
	} {
		ms := []*machine{at(t, c.a), at(t, c.b)}
		// The source toward an address is the machine's address in the same network.
		places, err := hosts(ms, func(m *machine, to netip.Addr) (netip.Addr, error) {
			for _, l := range m.links {
				for _, p := range l.Addrs {
					if p.Contains(to) {
						return p.Addr(), nil
					}
				}
			}
			return netip.Addr{}, errors.New("no route to " + to.String())
		})
		if err == nil {
			err = distinctAddresses(ms, places)
		}
		expect(t, c.name, places, err, c.want)
	}
}

func expect(t *testing.T, name string, places []place, err error, want string) {
	t.Helper()
	var got []string
	for _, p := range places {
		got = append(got, p.dev+" "+p.addr.String())
	}
	if s := strings.Join(got, ", "); err == nil && s != want || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %s, %v, want %s", name, s, err, want)
	}
}

func TestVia(t *testing.T) {
	for _, c := range []struct{ name, a, b, dev, want string }{
		{"a tunnel", "a wg0:1450=10.9.0.1/24" + a1, "b wg0:1450=10.9.0.2/24" + b1, "wg0", "wg0 10.9.0.1/24, wg0 10.9.0.2/24"},
		{"the first of two addresses", "a e=10.9.0.1/24+10.9.0.8/24", "b e=10.9.0.2/24", "e", "e 10.9.0.1/24, e 10.9.0.2/24"},
		{"IPv6 where one has no IPv4", "a e=10.9.0.1/24+fd09::1/64", "b e=fe80::2/64+fd09::2/64", "e", "e fd09::1/64, e fd09::2/64"},
		{"no family in common", "a e=10.9.0.1/24", "b e=fd09::2/64", "e", `via: not every machine has a device "e" with an address of the same family; choose another with dev. a has e 10.9.0.1/24. b has e fd09::2/64`},
		{"no such device", "a" + a1, "b" + b1, "wg0", "a has eth0 10.0.0.1/24, eth0 fd00::1/64. b has eth0 10.0.0.2/24, eth0 fd00::2/64"},
		{"only a link-local address", "a e=fe80::1/64", "b e=fe80::2/64", "e", "a has no device with an address that other machines can call"},
		{"one address twice", "a docker0=172.17.0.1/16", "b docker0=172.17.0.1/16", "docker0", "a and b both have the address 172.17.0.1"},
	} {
		places, err := find(t.Context(), []*machine{at(t, c.a), at(t, c.b)}, topo.Find{Kind: topo.Via, Dev: c.dev})
		expect(t, c.name, places, err, c.want)
	}
	if _, err := find(t.Context(), nil, topo.Find{Kind: topo.PodNet}); err == nil || !strings.Contains(err.Error(), `no network "pod"`) {
		t.Errorf("pods: %v", err)
	}
}

// Namespaces of one kernel are different machines; two names of one machine are not.
func TestDistinct(t *testing.T) {
	a, b, c := &machine{dest: "a", identity: "boot net:[1]"}, &machine{dest: "b", identity: "boot net:[2]"}, &machine{dest: "me@a", identity: "boot net:[1]"}
	if err := distinct([]*machine{a, b}); err != nil {
		t.Error(err)
	}
	if err := distinct([]*machine{a, b, c}); err == nil || !strings.HasPrefix(err.Error(), "a and me@a are one machine") {
		t.Errorf("error %v", err)
	}
}

func TestConnected(t *testing.T) {
	for _, c := range []struct{ connection, client, machine string }{
		{"10.0.0.9 50000 10.0.0.1 22", "10.0.0.9", "10.0.0.1"},
		{"fd00::9 50000 ::ffff:10.0.0.1 22", "fd00::9", "10.0.0.1"},
		{"fe80::9%eth0 50000 fe80::1%eth0 22", "fe80::9%eth0", "fe80::1%eth0"},
		{"", "invalid IP", "invalid IP"}, {"a b c d", "invalid IP", "invalid IP"}, {"1 2 3", "invalid IP", "invalid IP"},
	} {
		if client, machine := connected(c.connection); client.String() != c.client || machine.String() != c.machine {
			t.Errorf("%q: %v, %v, want %s, %s", c.connection, client, machine, c.client, c.machine)
		}
	}
}
