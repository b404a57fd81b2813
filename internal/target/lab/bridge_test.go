package lab

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// bridgeNF is a step for IPv4.
func bridgeNF(value string, optional bool) plan.Step {
	return plan.Step{In: "h", Sysctl: &plan.Sysctl{Key: plan.BridgeNF + "iptables", Value: value, Optional: optional}}
}

// A bridge passes packets to netfilter if and only if the step says so. The proof needs no rule:
// netfilter's code checks IPv4 headers of bridged packets and drops those with a wrong checksum
// (net/bridge/br_netfilter_hooks.c, br_validate_ipv4), which a bridge alone does not look at.
func TestBridgeNFIsInForce(t *testing.T) {
	s := open(t, "h", "a", "b")
	port := func(name, pod string) plan.Step {
		return plan.Step{In: "h", Link: &plan.Link{Name: name, Kind: "veth", Master: "br0", Peer: "eth0", PeerIn: pod}}
	}
	err := s.Apply(t.Context(), []plan.Step{
		{In: "h", Sysctl: &plan.Sysctl{Key: "net.ipv6.conf.default.addr_gen_mode", Value: "1"}},
		{In: "h", Link: &plan.Link{Name: "br0", Kind: "bridge"}}, port("p1", "a"), port("p2", "b"), bridgeNF("0", false)})
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	from, to := packets(t, s, "a"), packets(t, s, "b")
	forwards(t, from, to)
	for _, c := range []struct {
		value, want string
		passes      bool // a packet with a wrong checksum
	}{{"0", "0", true}, {"1", "1", false}, {"0", "0", true}} {
		if err := s.Apply(t.Context(), []plan.Step{bridgeNF(c.value, false)}); err != nil {
			t.Fatal(err)
		}
		b, err := fs.ReadFile(s.Nodes["h"].FS(), "proc/sys/net/bridge/bridge-nf-call-iptables")
		if got := strings.TrimSpace(string(b)); err != nil || got != c.want {
			t.Errorf("the key is %q, %v, want %s", got, err, c.want)
		}
		for id, good := range []bool{false, true} { // the second one ends the wait for the first
			if _, err := unix.Write(from, ipv4(id, good)); err != nil {
				t.Fatal(err)
			}
		}
		if id := receive(t, to); (id == 0) != c.passes {
			t.Errorf("bridge-nf %s: packet %d arrives first, want the wrong checksum to pass: %v", c.value, id, c.passes)
		}
		if c.passes {
			receive(t, to)
		}
	}
}

// A kernel without the key is as quiet as an optional step wants; any other step names the module.
func TestOptionalSysctl(t *testing.T) {
	s := open(t, "h")
	missing := func(optional bool) error {
		return s.Apply(t.Context(), []plan.Step{{In: "h", Sysctl: &plan.Sysctl{Key: plan.BridgeNF + "nonsense", Value: "1", Optional: optional}}})
	}
	if err := missing(true); err != nil {
		t.Error(err)
	}
	if err := missing(false); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "modprobe br_netfilter") {
		t.Errorf("got %v, want one that names the module", err)
	}
}

// packets returns a socket for IPv4 packets on eth0 of a node, with Ethernet headers.
func packets(t *testing.T, s *target.Site, node string) (fd int) {
	t.Helper()
	p := s.Nodes[node].(*place)
	index, err := p.index("eth0")
	if err != nil {
		t.Fatal(err)
	}
	proto := hostOrder(unix.ETH_P_IP)
	err = p.ns.Do(func() (err error) {
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(proto)); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: proto, Ifindex: int(index)})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}); err != nil {
		t.Fatal(err)
	}
	return fd
}

// forwards returns once the bridge passes packets: the kernel enables a port only when its work
// queue has seen that the port's carrier came (net/core/link_watch.c), after the link is up.
func forwards(t *testing.T, from, to int) {
	t.Helper()
	poll := []unix.PollFd{{Fd: int32(to), Events: unix.POLLIN}}
	for try := 0; ; try++ {
		if try == 100 {
			t.Fatal("the bridge passed none of 100 packets in 10 s")
		}
		if _, err := unix.Write(from, ipv4(warmUp, true)); err != nil {
			t.Fatal(err)
		}
		if n, err := unix.Poll(poll, 100); n > 0 {
			return
		} else if err != nil && !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
	}
}

// warmUp is the identification of the packets of forwards.
const warmUp = 255

// ipv4 returns a frame to a station that nobody is, which a bridge sends out of every port.
func ipv4(id int, good bool) []byte {
	f := append(make([]byte, 0, 60), 2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0)
	ip := []byte{0x45, 0, 0, 46, 0, byte(id), 0, 0, 64, 253, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2} // protocol 253: for experiments (RFC 3692)
	sum := uint32(0)
	for i := 0; i < len(ip); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	sum = sum>>16 + sum&0xffff
	if !good {
		sum++
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum))
	return append(f, ip...)[:60]
}

// receive returns the identification of the next packet of ipv4 that forwards has not sent.
func receive(t *testing.T, fd int) int {
	t.Helper()
	b := make([]byte, 2048)
	for {
		n, err := unix.Read(fd, b)
		if err != nil || n < 34 {
			t.Fatalf("%d bytes, %v", n, err)
		}
		if b[19] != warmUp {
			return int(b[19])
		}
	}
}
