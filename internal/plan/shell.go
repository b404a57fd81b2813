package plan

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Shell writes p as commands to paste as root or run with `sh -e`: it makes the network namespaces
// places, then runs the steps with ip(8), bridge(8), tc(8), ethtool(8), sysctl(8) and the plan's
// programs, whose state is below /run/weir. It is for reading and experiments; weir itself speaks
// netlink, runs none of these tools, and hides other hosts' files and processes from daemons. Steps
// inside a virtual machine are comments.
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
		guests[s.In] = guests[s.In] || s.Guest != nil || s.Inside != nil
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
		return one(append([]string{"ip", "-n", s.In, "link", "set", s.Set.Dev},
			slices.Concat(when(s.Set.MTU != 0, "mtu", strconv.Itoa(s.Set.MTU)), when(s.Set.Master != "", "master", s.Set.Master),
				when(s.Set.Up, "up"), when(s.Set.Down, "down"))...)...)
	case s.Addr != nil:
		return one(append([]string{"ip", "-n", s.In, "addr", unless(s.Addr.Gone, "add"), s.Addr.Prefix.String(), "dev", s.Addr.Dev},
			when(s.Addr.Prefix.Addr().Is6() && !s.Addr.Gone, "nodad")...)...)
	case s.Route != nil:
		return one(s.Route.shell(s.In)...)
	case s.Rule != nil:
		return one(s.Rule.shell(s.In)...)
	case s.Proxy != nil:
		return one("ip", "-n", s.In, "neigh", "add", "proxy", s.Proxy.Addr.String(), "dev", s.Proxy.Dev)
	case s.FDB != nil:
		return one("bridge", "-n", s.In, "fdb", unless(s.FDB.Gone, "append"), "00:00:00:00:00:00", "dev", s.FDB.Dev, "dst", s.FDB.Dst.String(), "self", "permanent")
	case s.Sysctl != nil:
		if s.Sysctl.Value == AllCPUs { // of up to 32; see Mask
			return []fmt.Stringer{text("cpus=$(printf %x $(((1 << $(nproc)) - 1)))"),
				text(fmt.Sprintf("%s %s=$cpus", command{"ip", "netns", "exec", s.In, "sysctl", "-qw"}, s.Sysctl.Key))}, nil
		}
		flags := "-qw"
		if s.Sysctl.Optional {
			flags = "-eqw"
		}
		return one("ip", "netns", "exec", s.In, "sysctl", flags, s.Sysctl.Key+"="+s.Sysctl.Value)
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
	if s.Inside != nil {
		return []fmt.Stringer{text(fmt.Sprintf("# %s is a network namespace inside the guest %s from here on", s.In, s.Inside.Guest))}, nil
	}
	if lines := s.eventShell(); lines != nil {
		return lines, nil
	}
	return nil, fmt.Errorf("the step is empty")
}

func when(yes bool, words ...string) command {
	if yes {
		return words
	}
	return nil
}

// unless returns the word that adds, or the one that removes.
func unless(gone bool, add string) string {
	if gone {
		return "del"
	}
	return add
}

func one(argv ...string) ([]fmt.Stringer, error) { return []fmt.Stringer{command(argv)}, nil }

func (l Link) shell(in string) ([]fmt.Stringer, error) {
	name, at := l.Name, in // where the new device is
	if l.To != "" {
		name, at = l.To, l.To // a temporary name: eth0 may already exist here (see package lab)
	}
	mtu := when(l.MTU != 0, "mtu", strconv.Itoa(l.MTU))
	kind := command{"type", l.Kind}
	switch l.Kind {
	case "bridge", "dummy", "wireguard":
	case "tap":
		return l.tap(in, mtu), nil
	case "veth", "netkit":
		kind = slices.Concat(kind, when(l.Mode != "", "mode", l.Mode), command{"peer", "name", l.Peer}, mtu, command{"netns", l.PeerIn})
	case "vxlan":
		kind = append(append(kind, "id", strconv.Itoa(l.VNI), "dstport", strconv.Itoa(l.Port)), when(l.Local.IsValid(), "local", l.Local.String())...)
	case "geneve":
		kind = append(kind, "id", strconv.Itoa(l.VNI), "remote", l.Remote.String(), "dstport", strconv.Itoa(l.Port))
	case "ipip":
		kind = append(kind, "local", l.Local.String())
	case "ipvlan":
		kind = append(command{"netns", l.To}, append(kind, "mode", l.Mode)...)
	case "macvlan":
		kind = append(command{"netns", l.To}, append(kind, "mode", "bridge")...)
	case "vlan":
		kind = append(kind, "id", strconv.Itoa(l.Tag))
	default:
		return nil, fmt.Errorf("link %s: unknown kind %q (known: bridge, dummy, geneve, ipip, ipvlan, macvlan, netkit, tap, veth, vlan, vxlan, wireguard)", l.Name, l.Kind)
	}
	lines := []fmt.Stringer{slices.Concat(command{"ip", "-n", in, "link", "add"}, when(l.Parent != "", "link", l.Parent), command{"name", name}, mtu, kind)}
	if l.Kind == "wireguard" {
		lines = append(lines, l.wg(in)...)
	}
	lines = append(lines, slices.Concat(command{"ip", "-n", at, "link", "set", name},
		when(name != l.Name, "name", l.Name), when(l.Master != "", "master", l.Master), command{"up"}))
	if l.Pair() {
		lines = append(lines, command{"ip", "-n", l.PeerIn, "link", "set", l.Peer, "up"})
	}
	return lines, nil
}

// tap makes a TAP device, which needs a different command from other devices.
func (l Link) tap(in string, mtu command) []fmt.Stringer {
	return []fmt.Stringer{
		append(command{"ip", "-n", in, "tuntap", "add", "dev", l.Name, "mode", "tap"}, when(l.Queues > 1, "multi_queue")...),
		slices.Concat(command{"ip", "-n", in, "link", "set", l.Name}, mtu, when(l.Master != "", "master", l.Master), command{"up"})}
}

// wg gives a wireguard device its peers and keys, and generates missing keys in /run. It uses
// wg(8), and a shell to pass one program's output to another as an argument.
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
	return slices.Concat(command{"ip", "-n", in, "route", unless(r.Gone, "add"), r.Dst.String()},
		when(r.Via.IsValid(), "via", r.Via.String()), when(r.Dev != "", "dev", r.Dev), when(r.Via.IsValid() && r.Dev != "", "onlink"),
		when(r.Table != 0, "table", strconv.Itoa(r.Table)))
}

func (r Rule) shell(in string) command {
	return slices.Concat(command{"ip", "-n", in}, when(r.From.Addr().Is6() || r.To.Addr().Is6(), "-6"), command{"rule", unless(r.Gone, "add")},
		when(r.From.IsValid(), "from", r.From.String()), when(r.To.IsValid(), "to", r.To.String()),
		command{"lookup", strconv.Itoa(r.Table), "priority", strconv.Itoa(r.Priority)})
}

func (o Offload) shell(in string) command {
	c := command{"ip", "netns", "exec", in, "ethtool", "-K", o.Dev}
	for _, f := range slices.Sorted(maps.Keys(o.Features)) {
		c = append(c, f, map[bool]string{false: "off", true: "on"}[o.Features[f]])
	}
	return c
}

// plain matches a word that sh(1) leaves as it is.
var plain = regexp.MustCompile(`^[a-zA-Z0-9_./:=@%+,-]+$`)

// quote is ShellWord for the values of a plan: one that an Exec keeps becomes a shell variable.
func quote(s string) string {
	if kept.MatchString(s) {
		return `"$` + s[1:len(s)-1] + `"`
	}
	return ShellWord(s)
}

// ShellWord returns s as one word of sh(1), for command lines that users copy.
func ShellWord(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func shellDir(in string) string { return "/run/weir/" + in }

// shellValues are the values of words in the steps of a place. A value kept by an Exec becomes a
// shell variable instead; see quote.
func shellValues(in string) map[string]string {
	return map[string]string{"dir": shellDir(in), "cgroup": "weir"}
}

// kept matches a word that stands for a value kept by an earlier step; see Exec.Keep.
var kept = regexp.MustCompile(`^\{[a-z]+\}$`)

// A text is a line for sh(1) that is more than one simple command.
type text string

func (t text) String() string { return string(t) }

// run returns the command that runs argv in the network namespace of in.
func run(in string, env, argv []string) command {
	c := command{"ip", "netns", "exec", in}
	if len(env) > 0 {
		c = append(append(c, "env"), Expand(shellValues(in), env...)...)
	}
	return append(c, Expand(shellValues(in), argv...)...)
}

func (m Move) shell(in string) []fmt.Stringer {
	return []fmt.Stringer{
		command{"ip", "-n", in, "link", "set", m.Dev, "netns", m.To, "name", m.As},
		slices.Concat(command{"ip", "-n", m.To, "link", "set", m.As}, when(m.MTU != 0, "mtu", strconv.Itoa(m.MTU)), command{"up"})}
}

func (e Exec) shell(in string) []fmt.Stringer {
	c := run(in, e.Env, e.Argv)
	if e.Keep == "" {
		return []fmt.Stringer{c}
	}
	return []fmt.Stringer{text(fmt.Sprintf("%s=$(%s)", e.Keep, c))}
}

func (a Adopt) shell(in string) []fmt.Stringer {
	return []fmt.Stringer{
		command{"ip", "netns", "del", a.Pod},
		text(fmt.Sprintf("%s \"$(%s)\"", command{"ip", "netns", "attach", a.Pod}, run(in, nil, a.PID)))}
}

func (f File) shell(in string) []fmt.Stringer {
	name := path.Join(shellDir(in), f.Name)
	if f.Content == CA || f.Content == Identity {
		return f.certificates(name)
	}
	content := command{"printf", "%s", Expand(shellValues(in), f.Content)[0]}
	return []fmt.Stringer{
		command{"mkdir", "-p", path.Dir(name)},
		text(fmt.Sprintf("%s > %s", content, quote(name))),
		command{"chmod", strconv.FormatUint(uint64(f.Perm()), 8), name}}
}

// certificates writes what CA or Identity stands for. It uses openssl(1) from 3.0 on, and keeps the authority's key in /run.
func (f File) certificates(name string) []fmt.Stringer {
	const ca, newKey = "/run/weir/ca", "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc"
	lines := []fmt.Stringer{command{"sh", "-c", fmt.Sprintf("umask 077; test -s %[1]s.pem || %[2]s -subj /CN=weir -keyout %[1]s.key -out %[1]s.pem", ca, newKey)}}
	if f.Content == CA {
		return append(lines, command{"cp", ca + ".pem", name})
	}
	return append(lines, command{"sh", "-c", fmt.Sprintf("umask 077; %[1]s -CA %[2]s.pem -CAkey %[2]s.key -subj /CN=%[3]s -addext subjectAltName=DNS:%[3]s -keyout - > %[4]s",
		newKey, ca, IdentityName, quote(name))})
}

// shell starts the service in the background and waits for Ready. The reader has to stop it.
func (s Service) shell(in string) []fmt.Stringer {
	log := quote(path.Join(shellDir(in), s.Name+".log"))
	r, ready := s.Ready, ""
	switch {
	case len(r.Argv) > 0:
		ready = run(in, s.Env, r.Argv).String() + " >/dev/null 2>&1"
	case r.File != "":
		ready = "test -e " + quote(Expand(shellValues(in), r.File)[0])
	default:
		ready = fmt.Sprintf("grep -qF %s %s", quote(r.Line), log)
	}
	return []fmt.Stringer{
		text(fmt.Sprintf("cd %s && %s >%s 2>&1 &", shellDir(in), run(in, s.Env, s.Argv), log)),
		until(ready, r.Seconds())}
}

// shell waits for one line after another; a line listed n times must appear n times.
func (a Await) shell(in string) []fmt.Stringer {
	times := map[string]int{}
	for _, line := range a.Lines {
		times[line]++
	}
	var waits []fmt.Stringer
	for _, line := range slices.Sorted(maps.Keys(times)) {
		count := command{"grep", "-cF", "-e", line}
		waits = append(waits, until(fmt.Sprintf("test $(%s | %s) -ge %d", run(in, nil, a.Argv), count, times[line]), a.Seconds()))
	}
	return waits
}

func until(ready string, seconds int) command {
	return command{"timeout", strconv.Itoa(seconds), "sh", "-c", "until " + ready + "; do sleep 0.1; done"}
}
