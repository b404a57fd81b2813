package plan

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Shell writes p as commands for a person to paste as root: it makes the network
// namespaces called places, then runs the steps with ip(8), bridge(8), tc(8),
// ethtool(8) and sysctl(8), and the programs of the plan, whose state is below
// /run/weir. `sh -e` can run it, too. It is for reading and for experiments; weir
// itself speaks netlink, runs none of these tools, and gives daemons namespaces
// in which they see no other host's files and processes. Steps inside a virtual
// machine are comments.
func (p Plan) Shell(w io.Writer, places []string) error {
	b := bufio.NewWriter(w)
	for _, name := range places {
		fmt.Fprintf(b, "ip netns add %s\n", quote(name))
		fmt.Fprintf(b, "ip -n %s link set lo up\n", quote(name))
	}
	made := map[string]bool{}
	guests := map[string]bool{}
	for i, s := range p.Steps {
		if s.stateful() && !made[s.In] {
			made[s.In] = true
			fmt.Fprintf(b, "mkdir -p %s\n", quote(shellDir(s.In)))
		}
		lines, err := s.shell()
		if err != nil {
			return fmt.Errorf("plan: step %d in %s: %w", i+1, s.In, err)
		}
		for _, line := range lines {
			if guests[s.In] {
				fmt.Fprint(b, "# inside the guest: ")
			}
			fmt.Fprintln(b, line)
		}
		guests[s.In] = guests[s.In] || s.Guest != nil
	}
	return b.Flush()
}

// A command is an argument vector.
type command []string

// String returns c as sh(1) reads it.
func (c command) String() string {
	words := make([]string, len(c))
	for i, a := range c {
		words[i] = quote(a)
	}
	return strings.Join(words, " ")
}

func (s Step) shell() ([]fmt.Stringer, error) {
	switch {
	case s.Link != nil:
		return s.Link.shell(s.In)
	case s.Set != nil:
		argv := []string{"ip", "-n", s.In, "link", "set", s.Set.Dev, "mtu", strconv.Itoa(s.Set.MTU)}
		if s.Set.Up {
			argv = append(argv, "up")
		}
		return one(argv...)
	case s.Addr != nil:
		verb := "add"
		if s.Addr.Gone {
			verb = "del"
		}
		argv := []string{"ip", "-n", s.In, "addr", verb, s.Addr.Prefix.String(), "dev", s.Addr.Dev}
		if s.Addr.Prefix.Addr().Is6() && !s.Addr.Gone {
			argv = append(argv, "nodad")
		}
		return one(argv...)
	case s.Route != nil:
		return one(s.Route.shell(s.In)...)
	case s.Rule != nil:
		return one(s.Rule.shell(s.In)...)
	case s.Proxy != nil:
		return one("ip", "-n", s.In, "neigh", "add", "proxy", s.Proxy.Addr.String(), "dev", s.Proxy.Dev)
	case s.FDB != nil:
		return one("bridge", "-n", s.In, "fdb", "append", "00:00:00:00:00:00", "dev", s.FDB.Dev, "dst", s.FDB.Dst.String(), "self", "permanent")
	case s.Sysctl != nil:
		return one("ip", "netns", "exec", s.In, "sysctl", "-qw", s.Sysctl.Key+"="+s.Sysctl.Value)
	case s.Offload != nil:
		return one(s.Offload.shell(s.In)...)
	case s.Rate != nil:
		return one(s.Rate.shell(s.In)...)
	case s.Delay != nil:
		return one(s.Delay.shell(s.In)...)
	case s.Move != nil:
		return s.Move.shell(s.In), nil
	case s.File != nil:
		return s.File.shell(s.In), nil
	case s.Exec != nil:
		return s.Exec.shell(s.In), nil
	case s.Adopt != nil:
		return s.Adopt.shell(s.In), nil
	case s.Service != nil:
		return s.Service.shell(s.In), nil
	case s.Await != nil:
		return s.Await.shell(s.In), nil
	case s.Guest != nil:
		return []fmt.Stringer{text(fmt.Sprintf("# %s is a guest from here on; weir reaches it through %s", s.In, Expand(shellValues(s.Guest.Host), s.Guest.Socket)[0]))}, nil
	}
	return nil, fmt.Errorf("the step is empty")
}

func one(argv ...string) ([]fmt.Stringer, error) { return []fmt.Stringer{command(argv)}, nil }

func (l Link) shell(in string) ([]fmt.Stringer, error) {
	add := command{"ip", "-n", in, "link", "add"}
	if l.Parent != "" {
		add = append(add, "link", l.Parent)
	}
	name := l.Name
	if l.To != "" {
		name = l.To // a temporary name: eth0 may already exist here (see package lab)
	}
	add = append(add, "name", name)
	var mtu []string
	if l.MTU != 0 {
		mtu = []string{"mtu", strconv.Itoa(l.MTU)}
	}
	add = append(add, mtu...)
	if l.Kind == "tap" {
		return l.tap(in, mtu), nil
	}
	at, far := in, command(nil) // where the new device is, and how its peer comes up
	switch l.Kind {
	case "bridge":
		add = append(add, "type", "bridge")
	case "veth":
		add = append(add, "type", "veth", "peer", "name", l.Peer)
		add = append(append(add, mtu...), "netns", l.PeerIn)
		far = command{"ip", "-n", l.PeerIn, "link", "set", l.Peer, "up"}
	case "vxlan":
		add = append(add, "type", "vxlan", "id", strconv.Itoa(l.VNI), "dstport", strconv.Itoa(l.Port))
		if l.Local.IsValid() {
			add = append(add, "local", l.Local.String())
		}
	case "geneve":
		add = append(add, "type", "geneve", "id", strconv.Itoa(l.VNI), "remote", l.Remote.String(), "dstport", strconv.Itoa(l.Port))
	case "ipip":
		add = append(add, "type", "ipip", "local", l.Local.String())
	case "ipvlan", "macvlan":
		at = l.To
		mode := l.Mode
		if l.Kind == "macvlan" {
			mode = "bridge"
		}
		add = append(add, "netns", l.To, "type", l.Kind, "mode", mode)
	case "vlan":
		add = append(add, "type", "vlan", "id", strconv.Itoa(l.Tag))
	case "wireguard":
		add = append(add, "type", "wireguard")
	default:
		return nil, fmt.Errorf("link %s: unknown kind %q (known: bridge, geneve, ipip, ipvlan, macvlan, tap, veth, vlan, vxlan, wireguard)", l.Name, l.Kind)
	}
	up := command{"ip", "-n", at, "link", "set", name}
	if name != l.Name {
		up = append(up, "name", l.Name)
	}
	if l.Master != "" {
		up = append(up, "master", l.Master)
	}
	lines := []fmt.Stringer{add}
	if l.Kind == "wireguard" {
		lines = append(lines, l.wg(in)...)
	}
	lines = append(lines, append(up, "up"))
	if far != nil {
		lines = append(lines, far)
	}
	return lines, nil
}

// tap makes a TAP device, which needs a different command from other devices.
func (l Link) tap(in string, mtu []string) []fmt.Stringer {
	up := append(command{"ip", "-n", in, "link", "set", l.Name}, mtu...)
	if l.Master != "" {
		up = append(up, "master", l.Master)
	}
	add := command{"ip", "-n", in, "tuntap", "add", "dev", l.Name, "mode", "tap"}
	if l.Queues > 1 {
		add = append(add, "multi_queue")
	}
	return []fmt.Stringer{add, append(up, "up")}
}

// wg gives a wireguard device its peers and its keys, and generates missing keys in
// /run. It uses wg(8), and a shell to pass one program's output to another as an
// argument.
func (l Link) wg(in string) []fmt.Stringer {
	file := func(in string) string { return quote("/run/" + in + "." + l.Name + ".key") }
	var lines []fmt.Stringer
	set := fmt.Sprintf("wg set %s listen-port %d private-key %s", quote(l.Name), l.Port, file(in))
	makeKey := func(in string) {
		lines = append(lines, command{"sh", "-c", fmt.Sprintf("umask 077; test -s %[1]s || wg genkey >%[1]s", file(in))})
	}
	makeKey(in)
	for _, p := range l.Peers {
		makeKey(p.In)
		var allowed []string
		for _, a := range p.Allowed {
			allowed = append(allowed, a.String())
		}
		set += fmt.Sprintf(` peer "$(wg pubkey <%s)" endpoint %s allowed-ips %s`, file(p.In), quote(p.Endpoint.String()), quote(strings.Join(allowed, ",")))
	}
	return append(lines, command{"ip", "netns", "exec", in, "sh", "-c", set})
}

func (r Route) shell(in string) command {
	c := command{"ip", "-n", in, "route", "add", r.Dst.String()}
	if r.Via.IsValid() {
		c = append(c, "via", r.Via.String())
	}
	if r.Dev != "" {
		c = append(c, "dev", r.Dev)
	}
	if r.Via.IsValid() && r.Dev != "" {
		c = append(c, "onlink")
	}
	if r.Table != 0 {
		c = append(c, "table", strconv.Itoa(r.Table))
	}
	return c
}

func (r Rule) shell(in string) command {
	c := command{"ip", "-n", in}
	if r.From.Addr().Is6() || r.To.Addr().Is6() {
		c = append(c, "-6")
	}
	c = append(c, "rule", "add")
	if r.From.IsValid() {
		c = append(c, "from", r.From.String())
	}
	if r.To.IsValid() {
		c = append(c, "to", r.To.String())
	}
	return append(c, "lookup", strconv.Itoa(r.Table), "priority", strconv.Itoa(r.Priority))
}

func (o Offload) shell(in string) command {
	c := command{"ip", "netns", "exec", in, "ethtool", "-K", o.Dev}
	for _, f := range slices.Sorted(maps.Keys(o.Features)) {
		c = append(c, f, onOff(o.Features[f]))
	}
	return c
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (r Rate) shell(in string) command {
	if r.Rate == 0 {
		return command{"tc", "-n", in, "qdisc", "del", "dev", r.Dev, "root"}
	}
	return command{"tc", "-n", in, "qdisc", "replace", "dev", r.Dev, "root", "tbf",
		"rate", bits(r.Rate), "burst", strconv.Itoa(r.Burst()), "limit", strconv.Itoa(r.Limit()),
		"peakrate", bits(r.Peak()), "mtu", strconv.Itoa(r.Frame()), "overhead", strconv.Itoa(WireOverhead),
		"mpu", strconv.Itoa(WireMinimum)}
}

func (d Delay) shell(in string) command {
	return command{"tc", "-n", in, "qdisc", "replace", "dev", d.Dev, "root", "netem",
		"delay", fmt.Sprintf("%dus", d.Delay.Microseconds()), "limit", strconv.Itoa(DelayLimit)}
}

// bits formats a rate in the largest unit of tc(8) that represents it exactly.
func bits(rate float64) string {
	n := int64(math.Round(rate))
	for _, u := range []struct {
		size int64
		name string
	}{{1e12, "tbit"}, {1e9, "gbit"}, {1e6, "mbit"}, {1e3, "kbit"}} {
		if n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "bit"
}

// quote returns s as one word of sh(1).
func quote(s string) string {
	if kept.MatchString(s) {
		return `"$` + s[1:len(s)-1] + `"`
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
