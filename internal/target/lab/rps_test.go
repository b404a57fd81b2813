package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target/local"
)

// rps is a step that makes the new devices of a place give packets to the CPUs of mask.
func rps(in, mask string) plan.Step {
	return plan.Step{In: in, Sysctl: &plan.Sysctl{Key: plan.DefaultRPS, Value: mask}}
}

// Packets that a sender on one CPU sends over a veth are received on the CPU of the mask, also by root
// of a user namespace, and the kernel shows the mask.
func TestPacketsReachTheCPUsOfTheMask(t *testing.T) {
	cpus := local.CPUs()
	if len(cpus) < 2 {
		t.Skip("one CPU: there is no other to give packets to")
	}
	sender, receiver := cpus[0], cpus[len(cpus)-1]
	mask := fmt.Sprintf("%x", 1<<receiver)
	s := open(t, "a", "b")
	a, b := netip.MustParsePrefix("198.18.0.1/24"), netip.MustParsePrefix("198.18.0.2/24")
	err := s.Apply(t.Context(), []plan.Step{
		rps("a", mask), rps("b", plan.AllCPUs),
		{In: "a", Link: &plan.Link{Name: "eth0", Kind: "veth", Peer: "eth0", PeerIn: "b"}},
		{In: "a", Addr: &plan.Addr{Dev: "eth0", Prefix: a}}, {In: "b", Addr: &plan.Addr{Dev: "eth0", Prefix: b}}})
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{"a": mask, "b": allCPUs()} {
		got, err := fs.ReadFile(s.Nodes[in].FS(), "sys/class/net/eth0/queues/rx-0/rps_cpus")
		if errors.Is(err, os.ErrPermission) {
			t.Skipf("this container hides /sys: %v", err)
		}
		if err != nil || strings.TrimLeft(strings.TrimSpace(string(got)), "0,") != want {
			t.Errorf("%s: the mask is %q, %v, want %s", in, got, err, want)
		}
	}
	if _, err := fs.ReadFile(s.Nodes["a"].FS(), "sys/class/net/eth0/queues/rx-1/rps_cpus"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a second queue: %v", err)
	}

	const packets = 1000
	before := softnet(t)
	err = s.Nodes["b"].(*place).ns.Do(func() error {
		if err := local.Pin([]int{sender}); err != nil {
			return err
		}
		c, err := net.DialUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(b.Addr(), 0)), net.UDPAddrFromAddrPort(netip.AddrPortFrom(a.Addr(), 9)))
		if err != nil {
			return err
		}
		defer c.Close()
		for range packets {
			_, _ = c.Write([]byte("x")) // nothing listens: the port is unreachable
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The other CPU takes them when it gets to it. Other programs only add to these counters.
	name, grown := fmt.Sprintf("softnet.cpu%d.processed", receiver), softnet(t).Sub(before)
	for late := time.Now().Add(5 * time.Second); grown[name] < packets && time.Now().Before(late); {
		grown = softnet(t).Sub(before)
	}
	if grown[name] < packets || grown["softnet.rps"] < 1 {
		t.Errorf("CPU %d received %v of %d packets, after %v wake-ups", receiver, grown[name], packets, grown["softnet.rps"])
	}
}

func softnet(t *testing.T) sample.Counters {
	t.Helper()
	c, errs := sample.Named(os.DirFS("/"), sample.OfSoftnet)
	if errs != nil {
		t.Fatal(errs)
	}
	return c
}

// A mask that names no CPU of the machine is refused with those that exist.
func TestMaskWithoutCPUs(t *testing.T) {
	s := open(t, "a")
	err := s.Apply(t.Context(), []plan.Step{rps("a", "80000000,00000000")})
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err == nil || !strings.Contains(err.Error(), "all of them are "+allCPUs()) {
		t.Errorf("error %v", err)
	}
}
