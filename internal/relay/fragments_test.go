package relay_test

import (
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/labtest"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// incomplete sends the first fragment of one datagram per IPv4 identification, never the others.
func incomplete(to netip.Addr) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	dst := to.As4()
	packet := append([]byte{0x45, 0, 0, 28, 0, 0, 0x20, 0, 64, unix.IPPROTO_UDP, 0, 0, 0, 0, 0, 0}, dst[:]...) // 0x20: more fragments
	packet = append(packet, make([]byte, 8)...)
	for id := range 1 << 16 {
		packet[4], packet[5] = byte(id>>8), byte(id)
		if err := unix.Sendto(fd, packet, 0, &unix.SockaddrInet4{Addr: dst}); err != nil {
			return err
		}
	}
	return nil
}

// Incomplete datagrams that earlier trials left behind do not affect a trial.
func TestIncompleteDatagramsOfEarlierTrials(t *testing.T) {
	built := up(t, network.Relay{Hops: 1, Port: 6783, Encrypt: true}, topo.Spec{})
	built.Duration = 100 * time.Millisecond
	labtest.Reach(t, built)
	if err := built.Site.Nodes[built.Server.Node].Run(t.Context(), target.Cmd{Argv: []string{"weir", "incomplete", built.Server.Addr.String()}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r := labtest.Run(t, built, &probe.UDPStream{Size: 2000, Rate: 8e6})
		if r.Status != record.OK {
			t.Fatalf("%v: %s", r.Status, r.Reason)
		}
		const full = 4 << 20
		waiting, _ := r.Get("fragments.waiting")
		if got, _ := r.Get("throughput"); got.Value == 0 || waiting.Value < full {
			t.Errorf("%g bit/s arrived while %g bytes waited for fragments; %v", got.Value, waiting.Value, r.Notes)
		}
	}
}
