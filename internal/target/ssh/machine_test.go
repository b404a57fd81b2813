package ssh

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/remote"
)

func TestNames(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"a,b,c", "a b c"},
		{"a=10.0.0.1,b=fd00::1", "a b"},
		{"root@a,ssh://me@b.example.org:2222", "a b.example.org"},
		{"me@a,you@a,a", "a a-2 a-3"},
		{"10.0.0.1,fd00::7", "10.0.0.1 fd00--7"},
		{"a_b,ü", "a-b machine"},
		{"db=10.0.0.1,ssh://[fd00::1]:22", "db fd00--1"},
	} {
		target, err := New(strings.Split(c.args, ","), target.Ports{}, remote.Programs{})
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		} else if got := strings.Join(target.Names(), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.args, got, c.want)
		}
	}
}

// Nothing in a name can become an option of ssh, or a command of a shell behind a ProxyCommand.
func TestBadMachines(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "two machines or more, not 0"},
		{[]string{"a"}, "two machines or more, not 1: --ssh a,b"},
		{[]string{"a", "b", "a"}, `machine "a" is named twice`},
		{[]string{"a", "a=10.0.0.1"}, `machine "a" is named twice`},
		{[]string{"a", ""}, "a machine has no name"},
		{[]string{"a", "=10.0.0.1"}, "a machine has no name"},
		{[]string{"a", "-oProxyCommand=reboot"}, `invalid machine "-oProxyCommand": a name does not begin with a dash`},
		{[]string{"a", "me@-v"}, "a name does not begin with a dash"},
		{[]string{"a", "ssh://-v"}, "a name does not begin with a dash"},
		{[]string{"a", "b;reboot"}, `invalid machine "b;reboot": the name has the character ';'`},
		{[]string{"a", "$(reboot)@b"}, `the character '$'`},
		{[]string{"a", "b c"}, `the character ' '`},
		{[]string{"a", "b\n"}, `the character '\n'`},
		{[]string{"a", "b\x1b[2J"}, `the character '\x1b'`},
		{[]string{"a", "b=host.example.org"}, `machine "b=host.example.org": invalid address "host.example.org"`},
		{[]string{"a", "b="}, `invalid address ""`},
		{[]string{"a", "b=127.0.0.1"}, `invalid address "127.0.0.1"`},
		{[]string{"a", "b=fe80::1%eth0"}, `invalid address "fe80::1%eth0": want the IPv4 or IPv6 address of one of its devices, such as b=10.0.0.1`},
	} {
		if _, err := New(c.args, target.Ports{}, remote.Programs{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %s", c.args, err, c.want)
		}
	}
}

// The name is the last argument but one, behind "--", and no option concerns host keys.
func TestCommand(t *testing.T) {
	argv := command("me@b")
	if n := len(argv); argv[0] != "ssh" || !slices.Equal(argv[n-3:n-1], []string{"--", "me@b"}) || !slices.Contains(argv, "BatchMode=yes") {
		t.Errorf("%q", argv)
	}
	for _, arg := range argv[:len(argv)-3] {
		for _, never := range []string{"HostKey", "KnownHosts", "ServerAlive", "ConnectTimeout", "ControlPath"} {
			if strings.Contains(arg, never) {
				t.Errorf("%s overrides the user's configuration", arg)
			}
		}
	}
	if last := argv[len(argv)-1]; strings.Count(last, "'") != 2 || strings.ContainsAny(last, "!\n") {
		t.Errorf("a login shell can misread %q", last)
	}
}

// The messages are those of OpenSSH 9.2.
func TestExplain(t *testing.T) {
	ended := errors.New("b: ssh ended with exit status 255: …")
	for _, c := range []struct{ said, want string }{
		{"me@10.0.0.2: Permission denied (publickey,password).", "b: ssh: me@10.0.0.2: Permission denied (publickey,password).; weir cannot answer questions for a password: load the key with ssh-add, or install one with `ssh-copy-id me@b`; `ssh me@b true` must work without a question"},
		{"No ED25519 host key is known for b and you have requested strict checking.\nHost key verification failed.", "run `ssh me@b` once by hand and compare the fingerprint"},
		{"@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@\nIT IS POSSIBLE\nthat\nHost key verification failed.", "find out why before you remove the known one"},
		{"ssh: Could not resolve hostname b: Name or service not known", "ssh: ssh: Could not resolve hostname b: Name or service not known; correct the name"},
		{"ssh: connect to host 10.0.0.2 port 22: Connection refused", "no SSH server listens there"},
		{"ssh: connect to host 10.0.0.2 port 22: Connection timed out", "a firewall drops SSH"},
		{"Connection timed out during banner exchange", "a firewall drops SSH"},
		{"ssh: connect to host 10.0.0.2 port 22: No route to host", "ProxyJump"},
		{"kex_exchange_identification: Connection closed by remote host", "MaxStartups"},
		{"Received disconnect from 10.0.0.2 port 22:2: Too many authentication failures", "IdentitiesOnly"},
		{"/etc/x line 1: Bad configuration option: foo\n/etc/x: terminating, 1 bad configuration options", "correct the configuration of ssh"},
		{"one\ntwo\nthree\nsomething else", "exit status 255: …; ssh said: two; three; something else"},
		{"", "b: ssh ended with exit status 255: …"},
	} {
		m := &machine{name: "b", dest: "me@b"}
		if err := m.explain(ended, c.said); !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.said, err, c.want)
		}
	}
}

// A banner, which a server prints before the login, is not why something else failed later.
func TestExplainBanner(t *testing.T) {
	m := &machine{name: "b", dest: "b"}
	err := m.explain(context.Canceled, "Idle sessions are timed out.")
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "firewall") {
		t.Error(err)
	}
}
