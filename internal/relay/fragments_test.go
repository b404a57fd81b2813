package relay_test

import (
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/trial"
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
	site, p, e := up(t, network.Relay{Hops: 1, Port: 6783, Encrypt: true}, topo.Spec{})
	client, server, err := p.Between("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Reach(t.Context(), p.Path.MTU, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := site.Nodes[server.Node].Run(t.Context(), target.Cmd{Argv: []string{"weir", "incomplete", server.Addr.String()}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err := trial.Run(t.Context(), trial.Setup{
			Probe: &probe.UDPStream{Size: 2000, Rate: 8e6}, Client: client, Server: server, Site: site, Engines: e, Plan: p,
			Duration: 100 * time.Millisecond, Raw: func(string, []byte) error { return nil },
		})
		if err != nil || r.Status != record.OK {
			t.Fatalf("%v: %s, %v", r.Status, r.Reason, err)
		}
		const full = 4 << 20
		waiting, _ := r.Get("fragments.waiting")
		if got, _ := r.Get("throughput"); got.Value == 0 || waiting.Value < full {
			t.Errorf("%g bit/s arrived while %g bytes waited for fragments; %v", got.Value, waiting.Value, r.Notes)
		}
	}
}
