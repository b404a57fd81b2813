package ssh

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/weir-bench/weir/internal/target/agent"
	"github.com/weir-bench/weir/internal/target/remote"
)

// A machine is one destination of ssh.
type machine struct {
	name  string     // in topologies: letters, digits, dots and dashes
	dest  string     // as the user wrote it, for ssh
	given netip.Addr // the address to measure; zero: the one that ssh reaches

	node     *agent.Node // nil while there is no connection
	identity string      // of its kernel and network namespace
	caller   netip.Addr  // of ssh, as the machine sees it; zero: unknown
	called   netip.Addr  // that ssh reaches, as the machine sees it; zero: unknown
	links    []remote.Link
}

// parse reads machines as the user names them.
func parse(args []string) ([]*machine, error) {
	if len(args) < 2 {
		return nil, fmt.Errorf("a network over SSH needs two machines or more, not %d: --ssh a,b", len(args))
	}
	var ms []*machine
	for i, arg := range args {
		if slices.Contains(args[:i], arg) {
			return nil, fmt.Errorf("machine %q is named twice; name two or more different ones", arg)
		}
		m := &machine{}
		addr, ok := "", false
		m.dest, addr, ok = strings.Cut(arg, "=")
		if err := check(m.dest); err != nil {
			return nil, err
		}
		if ok {
			a, err := netip.ParseAddr(addr)
			if err != nil || !suitable(a) {
				return nil, fmt.Errorf("machine %q: invalid address %q: want the IPv4 or IPv6 address of one of its devices, such as %s=10.0.0.1", arg, addr, m.dest)
			}
			m.given = a.Unmap()
		}
		same := func(other *machine) bool { return other.dest == m.dest }
		if slices.ContainsFunc(ms, same) {
			return nil, fmt.Errorf("machine %q is named twice; name two or more different ones", m.dest)
		}
		m.name = safe(m.dest)
		for n, base := 2, m.name; slices.ContainsFunc(ms, func(other *machine) bool { return other.name == m.name }); n++ {
			m.name = fmt.Sprintf("%s-%d", base, n)
		}
		ms = append(ms, m)
	}
	return ms, nil
}

// check returns an error for a destination that ssh could take for an option, or that a shell behind
// a ProxyCommand could run. Newer versions of ssh refuse these characters, too (ssh.c,
// valid_hostname and valid_ruser).
func check(dest string) error {
	switch bad := strings.IndexFunc(dest, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("'`\"$\\;&<>|(){}", r)
	}); {
	case dest == "":
		return errors.New("a machine has no name; write --ssh a,b")
	case bad >= 0:
		return fmt.Errorf("invalid machine %q: the name has the character %q; write HOST, USER@HOST or ssh://USER@HOST:PORT", dest, []rune(dest[bad:])[0])
	case dest[0] == '-', strings.Contains(dest, "@-"), strings.HasPrefix(dest, "ssh://-"): // a ProxyCommand gets the host alone
		return fmt.Errorf("invalid machine %q: a name does not begin with a dash; options of ssh belong in its configuration file", dest)
	}
	return nil
}

// safe returns the host part of a destination as a name for files and figures.
func safe(dest string) string {
	host := dest
	if u, err := url.Parse(dest); err == nil && u.Scheme == "ssh" && u.Hostname() != "" {
		host = u.Hostname()
	}
	host = host[strings.LastIndexByte(host, '@')+1:]
	host = strings.Trim(strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '-') {
			return r
		}
		return '-'
	}, host), ".-")
	if host == "" {
		return "machine"
	}
	return host
}

// command starts an agent on a machine. The options keep what the user's configuration adds to a
// login out of the pipe, as those of scp(1) do, and fail instead of asking questions. Everything
// else, host key checks and time limits included, stays the user's: heartbeats find a dead
// connection, with or without ServerAliveInterval.
func command(dest string) []string {
	return []string{"ssh", "-T", "-x", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes", "-o", "PermitLocalCommand=no",
		"-o", "RemoteCommand=none", "--", dest, "exec sh -c '" + remote.Script + "'"}
}

// connect starts an agent, unless one is alive, and asks for the machine's devices.
func (m *machine) connect(ctx context.Context, programs *remote.Programs) (err error) {
	if m.node == nil || m.node.Lost() != nil {
		if err := m.dial(ctx, programs); err != nil {
			return err
		}
	}
	m.links, err = remote.Links(ctx, m.node)
	return err
}

func (m *machine) dial(ctx context.Context, programs *remote.Programs) error {
	_ = m.close() // what is left of a lost connection
	pipe, err := remote.Start(command(m.dest), nil)
	if err != nil {
		return fmt.Errorf("%s: start ssh: %w", m.name, err)
	}
	node, _, err := remote.Dial(ctx, m.name, pipe, programs)
	if err != nil {
		return m.explain(err, pipe.Said())
	}
	node.Host().Name = m.name
	about := node.About()
	m.node, m.identity = node, node.Host().ID+" "+about.Network
	m.caller, m.called = connected(about.SSHConnection)
	return nil
}

// connected returns the addresses in a machine's SSH_CONNECTION, which is the client's address and port
// and then the machine's (ssh(1)); invalid ones when it has none.
func connected(connection string) (client, machine netip.Addr) {
	f := strings.Fields(connection)
	if len(f) != 4 {
		return client, machine
	}
	client, _ = netip.ParseAddr(f[0]) // a server in a container can set anything
	machine, _ = netip.ParseAddr(f[2])
	return client.Unmap(), machine.Unmap()
}

func (m *machine) close() error {
	if m.node == nil {
		return nil
	}
	defer func() { m.node = nil }()
	return m.node.Close()
}

// remedies are what helps against messages of ssh, the special ones first. NAME stands for the
// destination.
var remedies = []struct{ said, remedy string }{
	{"REMOTE HOST IDENTIFICATION HAS CHANGED", "the machine's key is not the one that ssh knows: find out why before you remove the known one (ssh-keygen -R)"},
	{"Host key verification failed", "ssh does not know the machine's key yet: run `ssh NAME` once by hand and compare the fingerprint"},
	{"Too many authentication failures", "ssh offers too many keys: set IdentityFile and IdentitiesOnly for NAME in ~/.ssh/config"},
	{"Permission denied (", "weir cannot answer questions for a password: load the key with ssh-add, or install one with `ssh-copy-id NAME`; `ssh NAME true` must work without a question"},
	{"Could not resolve hostname", "correct the name, or add a Host entry for it to ~/.ssh/config"},
	{"Name or service not known", "correct the name, or add a Host entry for it to ~/.ssh/config"},
	{"Connection refused", "no SSH server listens there: start sshd on the machine, or set Port in ~/.ssh/config"},
	{"timed out", "the machine is off, or a firewall drops SSH: check that `ssh NAME` works"},
	{"No route to host", "this machine cannot reach it: check that `ssh NAME` works, and ProxyJump in ~/.ssh/config"},
	{"Network is unreachable", "this machine cannot reach it: check that `ssh NAME` works, and ProxyJump in ~/.ssh/config"},
	{"closed by remote host", "the SSH server ends the connection: see its log, and MaxStartups and AllowUsers in sshd_config(5)"},
	{"Connection reset by", "the SSH server ends the connection: see its log, and MaxStartups and AllowUsers in sshd_config(5)"},
	{"onfiguration option", "correct the configuration of ssh"},
	{"Bad owner or permissions", "correct the permissions of the configuration of ssh"},
	{"mux_client", "end the shared connection with `ssh -O exit NAME`"},
}

// failed is in the error of a pipe whose ssh could not log in (ssh(1), EXIT STATUS). Only then is what
// ssh printed the reason: a banner of the server can hold any words.
const failed = "exit status 255"

// explain returns the error for a machine where no agent answers. said is the end of what ssh printed.
func (m *machine) explain(err error, said string) error {
	lines := strings.Split(said, "\n")
	short := strings.Join(lines[max(0, len(lines)-3):], "; ")
	for _, r := range remedies {
		if strings.Contains(err.Error(), failed) && strings.Contains(said, r.said) {
			return fmt.Errorf("%s: ssh: %s; %s", m.name, short, strings.ReplaceAll(r.remedy, "NAME", m.dest))
		}
	}
	if short != "" && !strings.Contains(err.Error(), lines[len(lines)-1]) {
		err = fmt.Errorf("%w; ssh said: %s", err, short)
	}
	if strings.Contains(err.Error(), "ssh ended with") { // something else than the script ran, such as a ForceCommand
		err = fmt.Errorf("%w; `ssh %s echo hello` must print hello: check the login shell on the machine, ForceCommand in its sshd_config and command= in its authorized_keys", err, m.dest)
	}
	return err
}
